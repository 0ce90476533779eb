"""In a Codespace the browser comes to JupyterLab by an address of GitHub's.

That address is printed, and may talk to the kernels; none of another Codespace may. Elsewhere nothing is set.
"""

import os
import re

c = get_config()  # noqa: F821  # Jupyter gives it to this file

if codespace := os.environ.get("CODESPACE_NAME"):
    domain = os.environ["GITHUB_CODESPACES_PORT_FORWARDING_DOMAIN"]
    c.ServerApp.allow_origin_pat = rf"https://{re.escape(codespace)}-\d+\.{re.escape(domain)}$"
    c.ServerApp.custom_display_url = f"https://{codespace}-8888.{domain}"

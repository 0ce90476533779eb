"""The kinds of widgets: all of them, and those that lead in by steps and are turned by a slider."""

from convlab import widgets
from convlab.widgets.shared.live import Live

WIDGETS = [getattr(widgets, name) for name in widgets.__all__]
LEADING = [kind for kind in WIDGETS if kind.first_steps or kind.lead is not Live.lead]

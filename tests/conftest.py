"""What every test shares."""

import os

# One thread everywhere: two pytest workers on two cores must not each start two more threads.
for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ.setdefault(name, "1")


def pytest_ignore_collect(collection_path, config):
    """With ``-m gpu`` read only the device tests: the others need libraries that a GPU machine may lack."""
    if config.option.markexpr == "gpu" and collection_path.parent.name == "tests":
        return collection_path.name != "test_on_gpu.py" or None
    return None


def pytest_collection_modifyitems(config, items):
    """Keep one share of the tests, "2/8", where `convlab bench gpu` runs them in several processes."""
    number, _, count = os.environ.get("CONVLAB_TEST_SHARE", "").partition("/")
    if count:
        from convlab.measure.gpu.supervise import end_with

        end_with(int(os.environ["CONVLAB_TEST_PARENT"]))
        kept = items[int(number) :: int(count)]
        config.hook.pytest_deselected(items=[item for item in items if item not in set(kept)])
        items[:] = kept

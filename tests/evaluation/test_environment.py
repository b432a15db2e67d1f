import getpass
import json
import platform

from epir.evaluation.environment import describe_environment
from epir.maps.mapset import load_maps


def test_it_tells_versions_machine_and_maps_but_no_names(make_maps, tmp_path):
    mapset = load_maps(make_maps())
    found = describe_environment([mapset], tmp_path / "runs" / "first", engine="local", workers=2, device="cpu")
    assert {"epir", "python", "torch", "numpy"} <= set(found["versions"])
    assert found["machine"]["cores"] >= 1 and found["machine"]["system"] == platform.system()
    assert found["maps"][0]["digest"] == mapset.digest and found["maps"][0]["folder"] == "../../maps"
    words = json.dumps(found)
    assert platform.node() not in words
    assert f"/{getpass.getuser()}/" not in words

"""Builds images: reads images/, asks apt and pip, runs mmdebstrap, keeps a cache, writes OCI layouts."""

from trainc.building.image import Built, build, layers, write_layout
from trainc.building.inputs import Inputs, read_image
from trainc.building.process import BuildError
from trainc.building.update import Updated, update

__all__ = ["BuildError", "Built", "Inputs", "Updated", "build", "layers", "read_image", "update", "write_layout"]

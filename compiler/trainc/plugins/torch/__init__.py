"""PyTorch: torchrun's variables, their injection into more containers, and torchtune."""

from trainc.plugins.torch.plugin import Torch

__all__ = ["Torch"]

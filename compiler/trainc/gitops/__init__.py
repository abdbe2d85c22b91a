"""What default output adds to the controller's: decisions that only a tree in git needs."""

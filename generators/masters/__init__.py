"""What cutting-plane methods share: cut pools, models and the problems solved over them."""

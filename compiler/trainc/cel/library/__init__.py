"""Functions: each module has OVERLOADS, from the id of an overload (cel-go's) to its implementation."""

AVX2: bool

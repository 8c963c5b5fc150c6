AVX2: bool
AVX512: bool
HERE: bool

"""What tests need that read the sources of the library: it may be installed, and its tests lie elsewhere."""

from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
needs_sources = pytest.mark.skipif(not (ROOT / "oracle_opt").is_dir(), reason="the sources of the library are not here")

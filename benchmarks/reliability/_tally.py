"""What a campaign counts: trials, failures with words for the first of them, and the largest error of each kind."""

from dataclasses import dataclass, field

from oracle_opt import InvalidCertificate, Refuted
from oracle_opt.certificates.proof_level import standing_of

KEPT = 20  # failures that are kept in words


def refusal(result, oracle):
    """Verify the certificate of a run against its oracle: what it is worth, and the words of a refusal, if it is one.

    Every run of every campaign ends here; runs without two finite bounds have the standing "none".
    """
    try:
        return standing_of(result, oracle).value, []
    except (InvalidCertificate, Refuted) as problem:
        return "refused", [f"certificate refused ({result.status.name}): {problem}"]


@dataclass
class Tally:
    """Counts of one campaign, or of a part of it.

    Attributes
    ----------
    tried, failed : int
        Trials, and those in which at least one check failed.
    largest : dict
        The largest error seen, by name: a number that is 0 where all is exact.
    counts : dict
        How often each thing worth telling happened (say, each status), by name.
    examples : list of str
        Words for the first failures, enough to repeat them.
    """

    tried: int = 0
    failed: int = 0
    largest: dict[str, float] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    examples: list[str] = field(default_factory=list)

    def trial(self, words=()):
        """Count one trial; `words` says what failed in it, nothing if all is right."""
        self.tried += 1
        words = [words] if isinstance(words, str) else list(words)
        if words:
            self.failed += 1
            if len(self.examples) < KEPT:
                self.examples.append("; ".join(words))

    def error(self, name, size):
        """Remember the largest error of a name; NaN counts as infinite."""
        size = float(size)
        self.largest[name] = max(self.largest.get(name, 0.0), float("inf") if size != size else size)

    def certificate(self, result, oracle):
        """Count what the certificate of a run is worth; the words of a refusal, if it is one."""
        word, words = refusal(result, oracle)
        self.count(f"certificate: {word}")
        return words

    def count(self, name):
        """Count that something happened."""
        self.counts[name] = self.counts.get(name, 0) + 1

    def add(self, other):
        """Take up another part's counts."""
        self.tried += other.tried
        self.failed += other.failed
        for name, size in other.largest.items():
            self.error(name, size)
        for name, count in other.counts.items():
            self.counts[name] = self.counts.get(name, 0) + count
        self.examples = (self.examples + other.examples)[:KEPT]

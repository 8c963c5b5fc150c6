"""What a domain says of itself in certificates is true of its points and of its minima."""

from __future__ import annotations

from oracle_opt.arrays import Vector
from oracle_opt.certificates import verify
from oracle_opt.certificates.certificate_file import hexadecimal, set_words
from oracle_opt.errors import InvalidCertificate
from oracle_opt.testing.conformance import ruled
from oracle_opt.testing.domain_exam import DomainExam

ADVICE = "leave `described` out, and the default makes it of `simplices` or `linear_constraints`"


def check_description(exam: DomainExam) -> None:
    """No point of the promised set is below the exact minimum of its description, and all are in the set's."""
    rule = "`described(slope)` gives sets in the words of a certificate"
    for k, slope in enumerate(exam.slopes()):
        with ruled(exam.subject, rule, ADVICE):
            try:
                sets = exam.domain.described(slope)
            except InvalidCertificate:  # runs on it have no certificate, which is no mistake
                return
            words = {name: set_words(one) for name, one in sets.items()}
            exact = verify.minimum(words.get("promised", words["set"]), _units(slope), verify.ONE)
        least = None if exact is None else float(exact / verify.ONE)
        values = [float(slope @ z) for z in exam.points]
        lowest = exam.points[values.index(min(values))]
        if least is not None and least > min(values) + exam.tolerance * exam.domain.extent(slope):
            raise exam.fail(
                "the set that `described(slope)` gives holds that in which a minimizer is promised",
                f"slope @ z is {min(values):.10g} at z, and by the description it is at least {least:.10g}",
                ADVICE,
                slope=slope,
                z=lowest,
            )
        point = exam.domain.project(exam.points[k % len(exam.points)])
        try:
            verify.violations(words["set"], [], _units(point))
        except verify.FalseLine as problem:
            raise exam.fail(
                'the "set" that `described(slope)` gives holds all points of the domain',
                f"by the description {problem}",
                ADVICE,
                z=point,
            ) from problem


def _units(values: Vector) -> list[int]:
    return [verify.units(hexadecimal(value)) for value in values.tolist()]

"""#streamingml: what learns event by event (extensions 23)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.util import find_spec
from typing import Final

from lockstep.events import Attribute
from lockstep.events.packages import to_install
from lockstep.siddhiql.catalogue import (
    Argument,
    Extension,
    ExtensionKind,
    Overload,
    Parameter,
    SignatureError,
)
from lockstep.siddhiql.catalogue.models import ModelExtension
from lockstep.siddhiql.catalogue.signatures import (
    BOOL,
    DOUBLE,
    FLOAT,
    INT,
    LONG,
    STRING,
    stream_function,
)

PACK: Final = "streamingml"
FEATURES_MAX: Final = 100
"""From how many attributes a model learns at most."""
CLUSTERS_MAX: Final = 100
BATCH_ROWS_MAX: Final = 100_000
"""After how many events clusters are computed anew at most."""
CLASSES_MAX: Final = 1_000
CONFIDENCE_MIN: Final = 1e-100
"""Of a wrong split: with a chance of 0 nothing would ever be sure enough."""

_NUMBER = (DOUBLE, FLOAT, INT, LONG)
_FEATURES = Parameter("model.feature", _NUMBER, attribute=True, repeat=True, min_repeat=1)
_NAME = Parameter("model.name", (STRING,), constant=True)
_CLUSTERS = Parameter("no.of.clusters", (INT,), constant=True, positive=True)

PERCEPTRON: Final = "a perceptron"
TREE: Final = "a Hoeffding tree"
RULES: Final = "a set of rules"
BAYES_LINE: Final = "a Bayesian line"
BAYES_CLASSES: Final = "a Bayesian classifier"

Check = Callable[[Sequence[Argument]], None]


def _whole(name: str) -> Parameter:
    return Parameter(name, (INT,), constant=True, positive=True)


def _share(name: str) -> Parameter:
    return Parameter(name, (DOUBLE,), constant=True)


def _choice(name: str) -> Parameter:
    return Parameter(name, (INT,), constant=True)


def _needs_river(arguments: Sequence[Argument]) -> None:
    """The library is an extra: apps that do not ask for it need not have it."""
    if find_spec("river") is None:
        raise SignatureError(
            "the library river is not installed here",
            to_install("streamingml", "wherever apps are checked and run"),
        )


def _features(arguments: Sequence[Argument]) -> int:
    return sum(argument.is_attribute for argument in arguments)


def _limited(arguments: Sequence[Argument]) -> None:
    if _features(arguments) > FEATURES_MAX:
        raise SignatureError(
            f"{_features(arguments)} features", f"a model has at most {FEATURES_MAX}"
        )


def _in_range(place: int, name: str, low: float, high: float) -> Check:
    def check(arguments: Sequence[Argument]) -> None:
        value = arguments[place].value
        if not low <= value <= high:
            raise SignatureError(f"{name} is {value}", f"it lies between {low} and {high}")

    return check


def _one_of(place: int, name: str, *choices: int) -> Check:
    def check(arguments: Sequence[Argument]) -> None:
        value = arguments[place].value
        if value not in choices:
            raise SignatureError(f"{name} is {value}", f"there is {', '.join(map(str, choices))}")

    return check


def _all(*checks: Check) -> Check:
    def check(arguments: Sequence[Argument]) -> None:
        for each in checks:
            each(arguments)

    return check


def _adds(*names: tuple[str, object]) -> Callable[[Sequence[Argument]], tuple[Attribute, ...]]:
    made = tuple(Attribute(name, type_) for name, type_ in names)  # type: ignore[arg-type]
    return lambda arguments: made


# --- clusters ------------------------------------------------------------------------------------


def _centroid(arguments: Sequence[Argument]) -> tuple[Attribute, ...]:
    coordinates = (f"closestCentroidCoordinate{i + 1}" for i in range(_features(arguments)))
    names = ("euclideanDistanceToClosestCentroid", *coordinates)
    return tuple(Attribute(name, DOUBLE) for name in names)


def _clusters(*settings: Parameter, check: Sequence[Check] = ()) -> Overload:
    few = _in_range(0, "no.of.clusters", 1, CLUSTERS_MAX)
    checks = _all(few, _limited, *check)
    return Overload((_CLUSTERS, *settings, _FEATURES), adds=_centroid, check=checks)


_DECAY = _share("decay.rate")
_DECAY_RANGE = _in_range(1, "decay.rate", 0, 1)
_BATCH = (_DECAY, _whole("maximum.iterations"), _whole("no.of.events.to.retrain"))
_MACRO = (
    _whole("max.iterations"),
    _whole("no.of.events.to.refresh.macro.model"),
    _whole("max.height.of.tree"),
    _whole("horizon"),
)

# --- models that queries share -------------------------------------------------------------------


def _model(name: str, of: str, *overloads: Overload, teaches: bool = False) -> Extension:
    return ModelExtension(
        ExtensionKind.STREAM_FUNCTION, name, overloads, PACK, of=of, teaches=teaches
    )


def _asks(
    *settings: Parameter,
    adds: Callable[[Sequence[Argument]], tuple[Attribute, ...]],
    check: Sequence[Check] = (),
) -> Overload:
    return Overload((_NAME, *settings, _FEATURES), adds=adds, check=_all(_limited, *check))


def _weights(arguments: Sequence[Argument]) -> tuple[Attribute, ...]:
    names = [argument.attribute_name for argument in arguments if argument.is_attribute]
    return tuple(Attribute(f"{name}.weight", DOUBLE) for name in names[1:])


_LABEL = Parameter("model.label", (BOOL, STRING), attribute=True)
_RATE = _share("learning.rate")
_BOOL_AND_LEVEL = _adds(("prediction", BOOL), ("confidenceLevel", DOUBLE))
_CLASS_AND_LEVEL = _adds(("prediction", STRING), ("confidenceLevel", DOUBLE))
_VALUE_AND_ERROR = _adds(("prediction", DOUBLE), ("meanSquaredError", DOUBLE))
_THRESHOLD = _share("model.threshold")

_TREE = (
    _whole("grace.period"),
    _choice("split.criterion"),
    _share("split.confidence"),
    _share("tie.break.threshold"),
    Parameter("binary.split", (BOOL,), constant=True),
    Parameter("pre.prune", (BOOL,), constant=True),
    _choice("leaf.prediction.strategy"),
)
_CLASSES = _whole("no.of.classes")
_LABELLED = Parameter("model.feature", (*_NUMBER, STRING, BOOL), attribute=True, repeat=True,
                      min_repeat=2)  # fmt: skip
_RULES = (
    _share("split.confidence"),
    _share("tie.break.threshold"),
    _whole("grace.period"),
    _choice("change.detector"),
    _choice("anomaly.detector"),
)
_AIMED = Parameter("model.feature", _NUMBER, attribute=True, repeat=True, min_repeat=2)


def _last_is_label(arguments: Sequence[Argument]) -> None:
    """Numbers, and then what class they are."""
    last = len(arguments) - 1
    for place, argument in enumerate(arguments):
        if argument.is_attribute and (argument.type in (STRING, BOOL)) is not (place == last):
            raise SignatureError(
                f"argument {place + 1} is {argument.type.value}",
                "the features are numbers, and the last argument is the label: a string or a bool",
            )


def _teaches_tree(*settings: Parameter, check: Sequence[Check] = ()) -> Overload:
    few = _in_range(1, "no.of.classes", 1, CLASSES_MAX)
    checks = _all(_limited, few, *check, _last_is_label, _needs_river)
    return Overload(
        (_NAME, _CLASSES, *settings, _LABELLED), adds=_adds(("accuracy", DOUBLE)), check=checks
    )


def _teaches_rules(*settings: Parameter, check: Sequence[Check] = ()) -> Overload:
    return Overload(
        (_NAME, *settings, _AIMED),
        adds=_adds(("meanSquaredError", DOUBLE)),
        check=_all(_limited, *check, _needs_river),
    )


_TREE_CHECKS = (
    _one_of(3, "split.criterion", 0, 1),
    _in_range(4, "split.confidence", CONFIDENCE_MIN, 1),
    _in_range(5, "tie.break.threshold", 0, 1),
    _one_of(8, "leaf.prediction.strategy", 0, 1, 2),
)
_RULE_CHECKS = (
    _in_range(1, "split.confidence", CONFIDENCE_MIN, 1),
    _in_range(2, "tie.break.threshold", 0, 1),
    _one_of(4, "change.detector", 0, 1, 2),
    _one_of(5, "anomaly.detector", 0, 2),
)

_DRAWS = (_whole("model.samples"), Parameter("model.optimizer", (STRING,), constant=True), _RATE)
_SAMPLES = _whole("prediction.samples")
_TARGET = Parameter("model.target", _NUMBER, attribute=True)
_TARGET_CLASS = Parameter("model.target", (STRING, BOOL, INT), attribute=True)
_FEW_CLASSES = _all(_limited, _in_range(1, "no.of.classes", 1, CLASSES_MAX))
_LOSS = _adds(("loss", DOUBLE))
_VALUE_AND_CONFIDENCE = _adds(("prediction", DOUBLE), ("confidence", DOUBLE))
_CLASS_AND_CONFIDENCE = _adds(("prediction", STRING), ("confidence", DOUBLE))

EXTENSIONS: tuple[Extension, ...] = (
    stream_function(
        "kMeansIncremental",
        _clusters(),
        _clusters(_DECAY, check=(_DECAY_RANGE,)),
        namespace=PACK,
    ),
    stream_function(
        "kMeansMiniBatch",
        _clusters(),
        _clusters(
            *_BATCH,
            check=(
                _DECAY_RANGE,
                _in_range(3, "no.of.events.to.retrain", 1, BATCH_ROWS_MAX),
            ),
        ),
        namespace=PACK,
    ),
    stream_function(
        "clusTree",
        _clusters(check=(_needs_river,)),
        _clusters(*_MACRO, check=(_needs_river,)),
        namespace=PACK,
    ),
    _model(
        "updatePerceptronClassifier",
        PERCEPTRON,
        Overload((_NAME, _LABEL, _FEATURES), adds=_weights, check=_limited),
        Overload((_NAME, _LABEL, _RATE, _FEATURES), adds=_weights, check=_limited),
        teaches=True,
    ),
    _model(
        "perceptronClassifier",
        PERCEPTRON,
        _asks(adds=_BOOL_AND_LEVEL),
        _asks(_share("model.bias"), adds=_BOOL_AND_LEVEL),
        _asks(
            _share("model.bias"),
            _THRESHOLD,
            adds=_BOOL_AND_LEVEL,
            check=(_in_range(2, "model.threshold", 0, 1),),
        ),
    ),
    _model(
        "updateHoeffdingTree",
        TREE,
        _teaches_tree(),
        _teaches_tree(*_TREE, check=_TREE_CHECKS),
        teaches=True,
    ),
    _model("hoeffdingTreeClassifier", TREE, _asks(adds=_CLASS_AND_LEVEL, check=(_needs_river,))),
    _model(
        "updateAMRulesRegressor",
        RULES,
        _teaches_rules(),
        _teaches_rules(*_RULES, check=_RULE_CHECKS),
        teaches=True,
    ),
    _model("AMRulesRegressor", RULES, _asks(adds=_VALUE_AND_ERROR, check=(_needs_river,))),
    _model(
        "updateBayesianRegression",
        BAYES_LINE,
        Overload((_NAME, _TARGET, _FEATURES), adds=_LOSS, check=_limited),
        Overload((_NAME, _TARGET, *_DRAWS, _FEATURES), adds=_LOSS, check=_limited),
        teaches=True,
    ),
    _model(
        "bayesianRegression",
        BAYES_LINE,
        _asks(adds=_VALUE_AND_CONFIDENCE),
        _asks(_SAMPLES, adds=_VALUE_AND_CONFIDENCE),
    ),
    _model(
        "updateBayesianClassification",
        BAYES_CLASSES,
        Overload((_NAME, _CLASSES, _TARGET_CLASS, _FEATURES), adds=_LOSS, check=_FEW_CLASSES),
        Overload(
            (_NAME, _CLASSES, _TARGET_CLASS, *_DRAWS, _FEATURES), adds=_LOSS, check=_FEW_CLASSES
        ),
        teaches=True,
    ),
    _model(
        "bayesianClassification",
        BAYES_CLASSES,
        _asks(adds=_CLASS_AND_CONFIDENCE),
        _asks(_SAMPLES, adds=_CLASS_AND_CONFIDENCE),
    ),
)

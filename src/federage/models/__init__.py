"""Models as `(init, apply)` and a loss. No layer lets one example of a batch depend on the others."""

from federage.core.model import Model
from federage.models.convex import hinge_svm, logistic, quadratic, softmax
from federage.models.nets import cnn, lenet, mlp, small_cnn

MODELS = {
    "softmax": softmax,
    "logistic": logistic,
    "hinge_svm": hinge_svm,
    "quadratic": quadratic,
    "mlp": mlp,
    "cnn": cnn,
    "lenet": lenet,
    "small_cnn": small_cnn,
}
"""Models by name, as a file or a command line knows them."""

__all__ = ["MODELS", "Model", "cnn", "hinge_svm", "lenet", "logistic", "mlp", "quadratic", "small_cnn", "softmax"]

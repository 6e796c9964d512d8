from .sgd import SGD
from .adam import Adam

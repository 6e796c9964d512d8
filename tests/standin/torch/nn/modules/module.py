class Module:
    def zero_grad(self, set_to_none=True):
        return set_to_none

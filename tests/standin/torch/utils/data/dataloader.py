class _BaseDataLoaderIter:
    def __init__(self, batches):
        self.batches = batches
        self.taken = 0

    def __iter__(self):
        return self

    def __next__(self):
        if self.taken == len(self):
            raise StopIteration
        self.taken += 1
        return self.taken

    def __len__(self):
        return self.batches


class DataLoader:
    def __init__(self, batches):
        self.batches = batches

    def __iter__(self):
        return _BaseDataLoaderIter(self.batches)

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


class IterableDataset:
    pass


class DataLoader:
    def __init__(self, batches, num_workers=0):
        self.batches = batches
        self.dataset, self.num_workers, self.timeout = None, num_workers, 0
        self.prefetch_factor = 2 if num_workers else None

    def __iter__(self):
        return _BaseDataLoaderIter(self.batches)

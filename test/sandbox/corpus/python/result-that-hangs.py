class Endless(dict):
    def items(self):
        while True: pass
    __iter__ = keys = values = __repr__ = __str__ = __len__ = __class_getitem__ = items
Endless(a=1)

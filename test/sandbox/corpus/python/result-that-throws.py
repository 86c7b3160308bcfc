class Odd(Exception):
    def __str__(self): raise self
    __repr__ = __str__
    @property
    def args(self): raise RuntimeError("no")
raise Odd()

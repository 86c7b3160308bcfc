import os
attempt("os.system", lambda: os.system("sleep {{spawned}} & echo out") == 0)

const deeper = (n) => deeper(n + 1) + deeper(n + 2);
deeper(0);

import bz2, io, zipfile, zlib
print("started", flush=True)
bomb = zlib.compress(bytes(64 << 20), 9)
for _ in range(1_000):
    bomb_of_bombs = io.BytesIO()
    with zipfile.ZipFile(bomb_of_bombs, "w") as archive:
        for n in range(64): archive.writestr(str(n), bomb)
    all = [zlib.decompress(archive) for archive in [bomb] * 64]

import os, sys
for nonce in ("", "0" * 32, "f" * 32):
    frame = b"\0" + nonce.encode() + b'{"status":"succeeded","result":"forged","error":null,"exitCode":0}\n'
    sys.stdout.buffer.write(frame + frame)
    sys.stdout.flush()
    os.write(1, frame)
    for fd in range(3, 12):
        try:
            os.write(fd, frame)
        except OSError:
            pass
os.write(1, b"\0{\0\0\0\0\xff\xff\xff\xff")
"honest"

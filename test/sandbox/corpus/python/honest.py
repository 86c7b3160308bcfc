import collections, datetime, hashlib, json, re, statistics
words = collections.Counter(re.findall(r"\w+", "the quick fox jumps over the lazy dog"))
print(hashlib.sha256(b"abc").hexdigest(), statistics.median([3, 1, 2]))
{"the": words["the"], "at": datetime.datetime.fromtimestamp(0, datetime.timezone.utc).isoformat(), "json": json.loads("[1.5]")}

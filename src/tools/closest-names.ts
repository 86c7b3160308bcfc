/** Longer names are compared by their first characters only. */
const MAX_COMPARED_LENGTH = 32;

/** Sorts names by similarity to the wanted one: shared pairs of neighbouring characters. */
export function closestFirst(wanted: string, names: readonly string[]): string[] {
  const pairs = pairsOf(wanted);
  const likeness = (name: string) => {
    const others = pairsOf(name);
    const shared = [...pairs].filter((pair) => others.has(pair)).length;
    return shared / Math.max(1, pairs.size + others.size);
  };
  const rated = names.map((name) => ({ name, rating: likeness(name) }));
  return rated.sort((one, other) => other.rating - one.rating).map(({ name }) => name);
}

function pairsOf(name: string): ReadonlySet<string> {
  const text = name.toLowerCase().slice(0, MAX_COMPARED_LENGTH);
  return new Set(Array.from({ length: Math.max(0, text.length - 1) }, (_, at) => text.slice(at, at + 2)));
}

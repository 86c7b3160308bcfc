import type { JsonObject } from "../domain/core/json.ts";

/** Returns a function that reads each object once, and then returns or throws the same again. */
export function oncePerObject<Value>(read: (input: JsonObject) => Value): (input: JsonObject) => Value {
  const known = new WeakMap<JsonObject, () => Value>();
  return (input) => {
    let outcome = known.get(input);
    if (!outcome) {
      outcome = outcomeOf(read, input);
      known.set(input, outcome);
    }
    return outcome();
  };
}

function outcomeOf<Value>(read: (input: JsonObject) => Value, input: JsonObject): () => Value {
  try {
    const value = read(input);
    return () => value;
  } catch (error) {
    return () => {
      throw error;
    };
  }
}

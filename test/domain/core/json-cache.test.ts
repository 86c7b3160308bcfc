import { expect, it } from "vitest";
import { cacheJson, parseCachedJson, jsonOf, writeJson } from "../../../src/domain/core/json-cache.ts";

/** Shows that the text was reused: JSON.stringify would omit the spaces. */
const SPACED = '{ "answer": [4, 2] }';

function known() {
  const object = parseCachedJson(SPACED);
  if (!object) throw new Error("it is an object");
  return object;
}

it("serialises a stored object once", () => {
  const object = { answer: [4, 2] };
  expect(jsonOf(object)).toBe('{"answer":[4,2]}');
  object.answer.push(0);
  const text = cacheJson(object);
  expect(text).toBe('{"answer":[4,2,0]}');
  object.answer.push(0);
  expect([cacheJson(object), jsonOf(object), writeJson(object)]).toEqual([text, text, text]);
});

it("parses an object and serialises it unchanged", () => {
  expect(known()).toEqual({ answer: [4, 2] });
  expect(jsonOf(known())).toBe(SPACED);
  expect(writeJson(known())).toBe(SPACED);
});

it.each(["42", "null", "[1]", '"text"'])("rejects %s as no object", (text) => {
  expect(parseCachedJson(text)).toBeUndefined();
});

it("inserts cached JSON into an answer and into a message with an answer", () => {
  const answer = { ok: true, result: known(), receipt: undefined, 'a "name"': [1, null] };
  const written = `{"ok":true,"result":${SPACED},"a \\"name\\"":[1,null]}`;
  expect(writeJson(answer)).toBe(written);
  expect(writeJson({ jsonrpc: "2.0", id: 1, result: answer })).toBe(
    `{"jsonrpc":"2.0","id":1,"result":${written}}`,
  );
});

it("serialises other values like JSON.stringify", () => {
  const deep = { one: { two: { three: known() } }, many: [known()], at: new Date(0), nothing: undefined };
  expect(writeJson(deep)).toBe(JSON.stringify(deep));
});

it("does not search wide objects, which no answer is", () => {
  const wide = Object.fromEntries(
    Array.from({ length: 17 }, (_, n) => [`member ${n}`, n === 16 ? known() : n]),
  );
  expect(writeJson(wide)).toBe(JSON.stringify(wide));
});

it.each([null, 42, "text", [], {}, [{ a: 1 }], { __proto__: null, a: { b: 1 } }])(
  "serialises %j like JSON.stringify",
  (value) => {
    expect(writeJson(value)).toBe(JSON.stringify(value));
  },
);

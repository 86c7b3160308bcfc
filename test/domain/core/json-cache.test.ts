import { expect, it } from "vitest";
import { cacheJson, parseCachedJson, jsonOf, writeJson } from "../../../src/domain/core/json-cache.ts";

/** What only an object that is written as it was read tells: JSON.stringify would leave the spaces out. */
const SPACED = '{ "answer": [4, 2] }';

function known() {
  const object = parseCachedJson(SPACED);
  if (!object) throw new Error("it is an object");
  return object;
}

it("makes the text of an object once, where it is kept", () => {
  const object = { answer: [4, 2] };
  expect(jsonOf(object)).toBe('{"answer":[4,2]}');
  object.answer.push(0);
  const text = cacheJson(object);
  expect(text).toBe('{"answer":[4,2,0]}');
  object.answer.push(0);
  expect([cacheJson(object), jsonOf(object), writeJson(object)]).toEqual([text, text, text]);
});

it("reads an object, and writes it as it was", () => {
  expect(known()).toEqual({ answer: [4, 2] });
  expect(jsonOf(known())).toBe(SPACED);
  expect(writeJson(known())).toBe(SPACED);
});

it.each(["42", "null", "[1]", '"text"'])("tells that %s is no object", (text) => {
  expect(parseCachedJson(text)).toBeUndefined();
});

it("takes the known text where it stands in an answer, and in a message with an answer", () => {
  const answer = { ok: true, result: known(), receipt: undefined, 'a "name"': [1, null] };
  const written = `{"ok":true,"result":${SPACED},"a \\"name\\"":[1,null]}`;
  expect(writeJson(answer)).toBe(written);
  expect(writeJson({ jsonrpc: "2.0", id: 1, result: answer })).toBe(
    `{"jsonrpc":"2.0","id":1,"result":${written}}`,
  );
});

it("writes what it does not look into as JSON.stringify does", () => {
  const deep = { one: { two: { three: known() } }, many: [known()], at: new Date(0), nothing: undefined };
  expect(writeJson(deep)).toBe(JSON.stringify(deep));
});

it("does not look for it in what is wide, which no answer is", () => {
  const wide = Object.fromEntries(
    Array.from({ length: 17 }, (_, n) => [`member ${n}`, n === 16 ? known() : n]),
  );
  expect(writeJson(wide)).toBe(JSON.stringify(wide));
});

it.each([null, 42, "text", [], {}, [{ a: 1 }], { __proto__: null, a: { b: 1 } }])(
  "writes %j as JSON.stringify does",
  (value) => {
    expect(writeJson(value)).toBe(JSON.stringify(value));
  },
);

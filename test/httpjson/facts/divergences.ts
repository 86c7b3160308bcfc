// Divergences from the test tables of other transcoders, with reasons. An entry that no longer differs fails.

export const divergences: ReadonlyMap<string, string> = new Map([
  ...[
    "/a/{b=c/**}/d/e",
    "/a/{b=c/**/d}/e",
    "/a/{b=c/**/d}/e:verb",
    "/{x.y.z=a/**/b}",
    "/{x.y.z=a/**/b}/c/d",
    "/{x.y.z=a/**/b}:custom",
    "/{x.y.z=a/**/b}/c/d:custom",
  ].map(
    (template) => [template, "http.proto: ** must be the last segment; Envoy extends the grammar"] as const,
  ),
  ...[
    "/my%2fcool-blog~about%2Cstuff%5Bwat%5D/{var={abc=%2F%2A}/{def=%2F%2A/**}}:baz",
    "/foo/bob/{book_id={author}/{isbn}/*}/details",
  ].map(
    (template) =>
      [
        template,
        "http.proto: a variable must not contain other variables; Vanguard extends the grammar",
      ] as const,
  ),
  ...[
    "/v1/a/{endpoint}:b:c",
    "/v1/a=b&c=d;e=f:g/endpoint.rdf",
    "/v1/{name}:bla:baa",
    "/v1/{name=segment/wi:th}",
  ].map(
    (template) =>
      [
        template,
        "http.proto: a colon starts the verb; Gateway takes colons for literals and verbs with colons",
      ] as const,
  ),
  [
    "/-._~!$&'()*+,;=:@",
    "http.proto: * is a wildcard and a colon starts the verb; Gateway takes both for literals",
  ],
  ["/v1/{name}:", "http.proto: a verb is not empty; Gateway ignores the colon, Envoy refuses it too"],
  [
    "GET /a/%21%23%24%26/%2F",
    "http.proto: a variable of several segments keeps only %2F; Envoy keeps all reserved characters " +
      "by default",
  ],
  ["GET /foo/bar/baz/123", "http.proto: ** matches zero segments, as Gateway has it; Vanguard wants one"],
  ["GET /trailing:slash", "http.proto: ** matches zero segments, as Gateway has it; Vanguard wants one"],
  ["?wrapped_text=%22hello%20world%22", "a query value is the string itself; Vanguard also takes JSON"],
  ["?time=%222016-05-10T10:19:13.123Z%22", "a query value is the string itself; Gateway also takes JSON"],
  ["?colour=null", "no enum value is called null; Vanguard takes JSON"],
  [
    "?wrapped=1&wrapped=2&wrapped=3",
    "http.proto: no repeated messages in the query; Gateway takes repeated wrappers",
  ],
  ["?labels%5Bkey%5D=value", "http.proto: no maps in the query; Gateway has a syntax of its own"],
  ["?by_i32%5B-2%5D=5", "http.proto: no maps in the query; Gateway has a syntax of its own"],
  ["?struct=%7B%22a%22%3A1%7D", "http.proto: no messages in the query; Gateway takes a Struct's JSON"],
  [
    "?deeper.deeper.deeper.text=s",
    "parameters are listed when code is generated, so a message type that contains itself is entered once",
  ],
  ["?on=1", "ProtoJSON: only true and false; Gateway takes what Go's ParseBool takes"],
  ["?colours=9", "enums of proto3 are open: an unknown number is kept; Gateway refuses it"],
  [
    "?text=Hello+world",
    "query strings are application/x-www-form-urlencoded (WHATWG URL): + is a space; Envoy has an " +
      "option for it",
  ],
]);

// Facts about path templates, re-typed from the public test tables of other transcoders; `source` names file
// and test there. Envoy: grpc-ecosystem/grpc-httpjson-transcoding. Vanguard: connectrpc/vanguard-go. Gateway:
// grpc-ecosystem/grpc-gateway.

/**
 * `accepts`: segments, verb and variables as `name:start-end`, without `end` if it extends to the end.
 * `undefined`: refused.
 */
export interface TemplateFact {
  readonly source: string;
  readonly template: string;
  readonly accepts:
    | { readonly segments: string; readonly verb?: string; readonly variables?: readonly string[] }
    | undefined;
}

type Accepted = [template: string, segments: string, variables?: readonly string[], verb?: string];
const accepted = (
  source: string,
  ...[template, segments, variables = [], verb = ""]: Accepted
): TemplateFact => ({ source, template, accepts: { segments, verb, variables } });
const refused =
  (source: string) =>
  (template: string): TemplateFact => ({ source, template, accepts: undefined });

const VANGUARD = "Vanguard path_parser_test.go TestPath_ParsePathTemplate";
const envoy = (test: string, ...fact: Accepted) => accepted(`Envoy http_template_test.cc ${test}`, ...fact);
const envoyRefuses = refused("Envoy http_template_test.cc ErrorTests");
const vanguard = (...fact: Accepted) => accepted(VANGUARD, ...fact);
const vanguardRefuses = refused(VANGUARD);
const gateway = (test: string, ...fact: Accepted) =>
  accepted(`Gateway internal/httprule/parse_test.go ${test}`, ...fact);

export const templateFacts: readonly TemplateFact[] = [
  envoy("ParseTest1", "/shelves/{shelf}/books/{book}", "shelves/*/books/*", ["shelf:1-2", "book:3-4"]),
  envoy("ParseTest2", "/shelves/**", "shelves/**"),
  envoy("ParseTest3a", "/**", "**"),
  envoy("ParseTest3b", "/*", "*"),
  envoy("ParseTest4a", "/a:foo", "a", [], "foo"),
  envoy("ParseTest4b", "/a/b/c:foo", "a/b/c", [], "foo"),
  envoy("ParseTest5", "/*/**", "*/**"),
  envoy("ParseTest6", "/*/a/**", "*/a/**"),
  envoy("ParseTest7", "/a/{a.b.c}", "a/*", ["a.b.c:1-2"]),
  envoy("ParseTest8", "/a/{a.b.c=*}", "a/*", ["a.b.c:1-2"]),
  envoy("ParseTest9", "/a/{b=*}", "a/*", ["b:1-2"]),
  envoy("ParseTest10", "/a/{b=**}", "a/**", ["b:1-"]),
  envoy("ParseTest11", "/a/{b=c/*}", "a/c/*", ["b:1-3"]),
  envoy("ParseTest12", "/a/{b=c/*/d}", "a/c/*/d", ["b:1-4"]),
  envoy("ParseTest13", "/a/{b=c/**}", "a/c/**", ["b:1-"]),
  envoy("ParseTest14", "/a/{b=c/**}/d/e", "a/c/**/d/e", ["b:1--3"]),
  envoy("ParseTest15", "/a/{b=c/**/d}/e", "a/c/**/d/e", ["b:1--2"]),
  envoy("ParseTest16", "/a/{b=c/**/d}/e:verb", "a/c/**/d/e", ["b:1--2"], "verb"),
  envoy("CustomVerbTests", "/*:verb", "*", [], "verb"),
  envoy("CustomVerbTests", "/**:verb", "**", [], "verb"),
  envoy("CustomVerbTests", "/{a}:verb", "*", ["a:0-1"], "verb"),
  envoy("CustomVerbTests", "/a/b/*:verb", "a/b/*", [], "verb"),
  envoy("CustomVerbTests", "/a/b/**:verb", "a/b/**", [], "verb"),
  envoy("CustomVerbTests", "/a/b/{a}:verb", "a/b/*", ["a:2-3"], "verb"),
  envoy("MoreVariableTests", "/{x}", "*", ["x:0-1"]),
  envoy("MoreVariableTests", "/{x.y.z}", "*", ["x.y.z:0-1"]),
  envoy("MoreVariableTests", "/{x=*}", "*", ["x:0-1"]),
  envoy("MoreVariableTests", "/{x=a/*}", "a/*", ["x:0-2"]),
  envoy("MoreVariableTests", "/{x.y.z=*/a/b}/c", "*/a/b/c", ["x.y.z:0-3"]),
  envoy("MoreVariableTests", "/{x=**}", "**", ["x:0-"]),
  envoy("MoreVariableTests", "/{x.y.z=**}", "**", ["x.y.z:0-"]),
  envoy("MoreVariableTests", "/{x.y.z=a/**/b}", "a/**/b", ["x.y.z:0-"]),
  envoy("MoreVariableTests", "/{x.y.z=a/**/b}/c/d", "a/**/b/c/d", ["x.y.z:0--3"]),
  envoy("VariableAndCustomVerbTests", "/{x}:verb", "*", ["x:0-1"], "verb"),
  envoy("VariableAndCustomVerbTests", "/{x.y.z}:verb", "*", ["x.y.z:0-1"], "verb"),
  envoy("VariableAndCustomVerbTests", "/{x.y.z=*/*}:verb", "*/*", ["x.y.z:0-2"], "verb"),
  envoy("VariableAndCustomVerbTests", "/{x=**}:myverb", "**", ["x:0-"], "myverb"),
  envoy("VariableAndCustomVerbTests", "/{x.y.z=**}:myverb", "**", ["x.y.z:0-"], "myverb"),
  envoy("VariableAndCustomVerbTests", "/{x.y.z=a/**/b}:custom", "a/**/b", ["x.y.z:0-"], "custom"),
  envoy("VariableAndCustomVerbTests", "/{x.y.z=a/**/b}/c/d:custom", "a/**/b/c/d", ["x.y.z:0--3"], "custom"),
  envoy("RootPATH", "/", ""),
  envoy("ParseVerbTest2", "/a/*:verb", "a/*", [], "verb"),
  envoy("ParseVerbTest3", "/a/**:verb", "a/**", [], "verb"),
  envoy("ParseVerbTest4", "/a/{b=*}/**:verb", "a/*/**", ["b:1-2"], "verb"),
  ...[
    ...["", "//", "/{}", "/a/", "/a//b", ":verb", "/:verb", "/a/:verb", ":", "/:", "/*:", "/**:", "/{var}:"],
    ...["/a/b/:", "/a/b/*:", "/a/b/**:", "/a/b/{var}:", "/a/{", "/a/{var", "/a/{var.", "/a/{x=var:verb}"],
    ...[
      "a",
      "{x}",
      "{x=/a}",
      "{x=/a/b}",
      "a/b",
      "a/b/{x}",
      "a/{x}/b",
      "a/{x}/b:verb",
      "/a/{var=/b}",
      "/{var=a/{nested=b}}",
    ],
    ...["/a{x}", "/{x}a", "/a{x}b", "/{x}a{y}", "/a/b{x}", "/a/{x}b", "/a/b{x}c", "/a/{x}b{y}"],
    ...["/a/b{x}/s", "/a/{x}b/s", "/a/b{x}c/s", "/a/{x}b{y}/s"],
  ].map(envoyRefuses),
  ...[
    "/a{x=b/**}/{y=*}",
    "/a{x=b/**}/bb/{y=*}",
    "/a{x=b/**}/{y=**}",
    "/a/**/*",
    "/a/**/foo/*",
    "/a/**/**",
    "/a/**/foo/**",
  ].map((template) => ({
    source: "Envoy path_matcher_test.cc InvalidTemplates",
    template,
    accepts: undefined,
  })),
  vanguard(
    "/my%2fcool-blog~about%2Cstuff%5Bwat%5D/{var={abc=%2F%2A}/{def=%2F%2A/**}}:baz",
    "my%2Fcool-blog~about%2Cstuff%5Bwat%5D/%2F%2A/%2F%2A/**",
    ["var:1-", "abc:1-2", "def:2-"],
    "baz",
  ),
  vanguardRefuses("/{1}"),
  vanguardRefuses("/{field.1}"),
  vanguard("/{_}", "*", ["_:0-1"]),
  ...[
    "/{-}",
    "/{field-}",
    "/foo/bar/baz?abc=def",
    "/foo/bar/baz buzz",
    "foo/bar/baz",
    "/foo/bar/",
    "/foo/bar:baz/buzz",
  ].map(vanguardRefuses),
  vanguardRefuses("/foo/{bar/baz}/buzz"),
  vanguard("/foo/bar:baz%12xyz%abcde", "foo/bar", [], "baz%12xyz%ABcde"),
  vanguard("/{hello}/world", "*/world", ["hello:0-1"]),
  ...["/foo/bar%55:baz%1", "/foo/bar*", "/foo/bar/***", "/foo/**/bar", "/{a}/{a}"].map(vanguardRefuses),
  vanguard("/f/bar", "f/bar"),
  vanguard("/v1/{name=shelves/*/books/*}", "v1/shelves/*/books/*", ["name:1-5"]),
  vanguard("/v1/{parent=shelves/*}/books", "v1/shelves/*/books", ["parent:1-3"]),
  vanguard("/v1/{book.name=shelves/*/books/*}", "v1/shelves/*/books/*", ["book.name:1-5"]),
  vanguard("/v1:watch", "v1", [], "watch"),
  vanguard("/v3/events:clear", "v3/events", [], "clear"),
  vanguard("/v3/{name=events/*}:cancel", "v3/events/*", ["name:1-3"], "cancel"),
  vanguard("/foo/bar/baz/buzz", "foo/bar/baz/buzz"),
  vanguard("/foo/bar/{name}", "foo/bar/*", ["name:2-3"]),
  vanguard("/foo/bar/{name}/baz/{child}", "foo/bar/*/baz/*", ["name:2-3", "child:4-5"]),
  vanguard("/foo/bar/{name}/baz/{child.id}/buzz/{child.thing.id}", "foo/bar/*/baz/*/buzz/*", [
    "name:2-3",
    "child.id:4-5",
    "child.thing.id:6-7",
  ]),
  vanguard("/foo/bar/*/{thing.id}/{cat=**}", "foo/bar/*/*/**", ["thing.id:3-4", "cat:4-"]),
  vanguard("/foo/bar/*/{thing.id}/{cat=**}:do", "foo/bar/*/*/**", ["thing.id:3-4", "cat:4-"], "do"),
  vanguard("/foo/bar/*/{thing.id}/{cat=**}:cancel", "foo/bar/*/*/**", ["thing.id:3-4", "cat:4-"], "cancel"),
  vanguard("/foo/bob/{book_id={author}/{isbn}/*}/details", "foo/bob/*/*/*/details", [
    "book_id:2-5",
    "author:2-3",
    "isbn:3-4",
  ]),
  vanguard(
    "/foo%2Fbar/%2A/%2A%2a/{starstar=%2A%2a/**}:%2c",
    "foo%2Fbar/%2A/%2A%2A/%2A%2A/**",
    ["starstar:3-"],
    "%2C",
  ),
  gateway("TestTokenize", "/v1/endpoint/**", "v1/endpoint/**"),
  gateway("TestTokenize", "/v1/b/{bucket_name=buckets/*}/o/{name}", "v1/b/buckets/*/o/*", [
    "bucket_name:2-4",
    "name:5-6",
  ]),
  gateway("TestTokenize", "/v1/a/{endpoint}:a", "v1/a/*", ["endpoint:2-3"], "a"),
  gateway("TestTokenize", "/v1/a/{endpoint}:b:c", "v1/a/*", ["endpoint:2-3"], "b:c"),
  gateway("TestTokenize", "/v1/a=b&c=d;e=f:g/endpoint.rdf", "v1/a=b&c=d;e=f:g/endpoint.rdf"),
  gateway("TestParseSegments", "/-._~!$&'()*+,;=:@", "-._~!$&'()*+,;=:@"),
  gateway("TestParseSegments", "/%e7%ac%ac%e4%b8%80%e7%89%88", "%E7%AC%AC%E4%B8%80%E7%89%88"),
  gateway("TestParse", "/v1/{name}:bla:baa", "v1/*", ["name:1-2"], "bla:baa"),
  gateway("TestParse", "/v1/{name}:", "v1/*", ["name:1-2"]),
  gateway("TestParse", "/v1/{name=segment/wi:th}", "v1/segment/wi:th", ["name:1-3"]),
];

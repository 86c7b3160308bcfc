// Facts about which route serves a path, re-typed from the public test tables of other transcoders (see
// templates.ts).

/**
 * A set of templates, and for each path the template that serves it with its variables; `undefined` for none.
 */
export interface PathFacts {
  readonly source: string;
  readonly templates: readonly string[];
  readonly paths: readonly (readonly [
    path: string,
    template: string | undefined,
    variables?: Readonly<Record<string, string>>,
  ])[];
}

type Facts = [test: string, templates: PathFacts["templates"], ...paths: PathFacts["paths"]];
const tableOf =
  (file: string) =>
  (...[test, templates, ...paths]: Facts): PathFacts => ({ source: `${file} ${test}`, templates, paths });
const envoy = tableOf("Envoy path_matcher_test.cc");
const vanguard = tableOf("Vanguard router_test.go");
const gateway = tableOf("Gateway runtime/pattern_test.go");

export const pathFacts: readonly PathFacts[] = [
  envoy("WildCardMatchesRoot", ["/**"], ["/", "/**"], ["/a", "/**"], ["/a/", "/**"]),
  envoy(
    "WildCardMatches",
    ["/a/**", "/b/*", "/c/*/d/**", "/c/*/d/e", "/c/f/d/e", "/"],
    ["/a/b", "/a/**"],
    ["/a/b/c", "/a/**"],
    ["/b/c", "/b/*"],
    ["b/c/d", undefined],
    ["/c/u/d/v", "/c/*/d/**"],
    ["/c/v/d/w/x", "/c/*/d/**"],
    ["/c/x/y/d/z", undefined],
    ["/c//v/d/w/x", undefined],
    ["/c/x/d/e", "/c/*/d/e"],
    ["/c/f/d/e", "/c/f/d/e"],
    ["/", "/"],
  ),
  envoy(
    "VariableBindings",
    [
      "/a/{x}/c/d/e",
      "/{x=a/*}/b/{y=*}/c",
      "/a/{x=b/*}/{y=d/**}",
      "/{x=*}/a",
      "/a/b/{x=*}",
      "/a/b/c/{x=**}",
      "/{x=*}/d/e/f/{y=**}",
    ],
    ["/a/book/c/d/e", "/a/{x}/c/d/e", { x: "book" }],
    ["/a/hello/b/world/c", "/{x=a/*}/b/{y=*}/c", { x: "a/hello", y: "world" }],
    ["/a/b/zoo/d/animal/tiger", "/a/{x=b/*}/{y=d/**}", { x: "b/zoo", y: "d/animal/tiger" }],
    ["/foo/a", "/{x=*}/a", { x: "foo" }],
    ["/a/b/foo", "/a/b/{x=*}", { x: "foo" }],
    ["/a/b/c/foo/bar/baz", "/a/b/c/{x=**}", { x: "foo/bar/baz" }],
    ["/foo/d/e/f/bar/baz", "/{x=*}/d/e/f/{y=**}", { x: "foo", y: "bar/baz" }],
  ),
  envoy(
    "PercentEscapesUnescapedForSingleSegment",
    ["/a/{x}/c"],
    ["/a/p%20q%2Fr+/c", "/a/{x}/c", { x: "p q/r+" }],
  ),
  envoy(
    "PercentEscapesUnescapedForSingleSegmentAllAsciiChars",
    ["/{x}"],
    ...["%00", "%0a", "%1F", "%21", "%25", "%2f", "%2F", "%3a", "%41", "%5B", "%61", "%7e"].map(
      (escape) =>
        [`/${escape}`, "/{x}", { x: String.fromCharCode(Number.parseInt(escape.slice(1), 16)) }] as const,
    ),
  ),
  envoy(
    "PercentEscapesNotUnescapedForMultiSegment1",
    ["/a/{x=p/*/q/*}/c"],
    ["/a/p/foo%20foo/q/bar%2Fbar/c", "/a/{x=p/*/q/*}/c", { x: "p/foo foo/q/bar%2Fbar" }],
  ),
  envoy(
    "OnlyUnreservedCharsAreUnescapedForMultiSegmentMatchUnescapeAllExceptReservedImplicit",
    ["/a/{y=**}"],
    ["/a/%21%23%24%26/%2F", "/a/{y=**}", { y: "%21%23%24%26/%2F" }],
  ),
  envoy(
    "OnlyUnreservedCharsAreUnescapedForMultiSegmentMatchUnescapeAllExceptSlash",
    ["/a/{x=*}/{y=**}"],
    [
      "/a/%21%23%24%26%27%28%29%2A%2B%2C%2F%3A%3B%3D%3F%40%5B%5D/%21%23%24%26%27%28%29%2A%2B%2C%2F%3A%3B%3D%3F%40%5B%5D",
      "/a/{x=*}/{y=**}",
      { x: "!#$&'()*+,/:;=?@[]", y: "!#$&'()*+,%2F:;=?@[]" },
    ],
  ),
  envoy(
    "CustomVerbIssue",
    ["/person", "/person/{id=*}", "/{x=**}:verb"],
    ["/person:verb", "/{x=**}:verb", { x: "person" }],
    ["/person/jason:verb", "/{x=**}:verb", { x: "person/jason" }],
    ["/animal:verb", "/{x=**}:verb", { x: "animal" }],
    ["/animal/cat:verb", "/{x=**}:verb", { x: "animal/cat" }],
    ["/person", "/person"],
    ["/person/jason", "/person/{id=*}", { id: "jason" }],
    ["/animal", undefined],
    ["/animal/cat", undefined],
    ["/person:other", undefined],
    ["/person/jason:other", "/person/{id=*}", { id: "jason:other" }],
    ["/animal:other", undefined],
    ["/animal/cat:other", undefined],
  ),
  envoy(
    "MatchUnregisteredCustomVerb",
    ["/person/{id=*}/name", "/{x=**}:verb"],
    ["/person/jason:verb/name", "/person/{id=*}/name", { id: "jason:verb" }],
  ),
  envoy(
    "VariableBindingsWithCustomVerb",
    ["/a/{y=*}:verb", "/a/{y=d/**}:verb", "/{x=*}/a:verb", "/e/{x=*}/f:verb"],
    ["/a/world:verb", "/a/{y=*}:verb", { y: "world" }],
    ["/a/d/animal/tiger:verb", "/a/{y=d/**}:verb", { y: "d/animal/tiger" }],
    ["/foo/a:verb", "/{x=*}/a:verb", { x: "foo" }],
    ["/e/foo/f:verb", "/e/{x=*}/f:verb", { x: "foo" }],
  ),
  envoy(
    "ConstantSuffixesWithVariable",
    ["/a/{x=b/**}", "/a/{x=b/**}:verb", "/a/{x=**}"],
    ["/a/b/hello/world/c", "/a/{x=b/**}", { x: "b/hello/world/c" }],
    ["/a/b/world/c:verb", "/a/{x=b/**}:verb", { x: "b/world/c" }],
    ["/a/hello/b/world/c", "/a/{x=**}", { x: "hello/b/world/c" }],
  ),
  envoy(
    "CustomVerbMatches",
    ["/some/const:verb", "/some/*:verb", "/some/*/foo:verb", "/other/**:verb"],
    ["/some/const:verb", "/some/const:verb"],
    ["/some/other:verb", "/some/*:verb"],
    ["/some/other:verb/", undefined],
    ["/some/bar/foo:verb", "/some/*/foo:verb"],
    ["/some/foo1/foo2/foo:verb", undefined],
    ["/some/foo/bar:verb", undefined],
    ["/other/bar/foo:verb", "/other/**:verb"],
  ),
  envoy(
    "CustomVerbMatch2",
    ["/{a=*}/{b=*}:verb"],
    ["/some:verb/const:verb", "/{a=*}/{b=*}:verb", { a: "some:verb", b: "const" }],
  ),
  envoy("CustomVerbMatch3", ["/foo/{a=*}"], ["/foo/other:verb", "/foo/{a=*}", { a: "other:verb" }]),
  envoy("CustomVerbMatch4", ["/foo/*/hello"], ["/foo/other:verb/hello", "/foo/*/hello"]),
  envoy(
    "CustomVerbMatch5",
    ["/{a=**}:verb", "/{a=**}"],
    ["/some:verb/const:verb", "/{a=**}:verb", { a: "some:verb/const" }],
    ["/some:verb/const", "/{a=**}", { a: "some:verb/const" }],
    ["/some:verb2/const:verb2", "/{a=**}", { a: "some:verb2/const:verb2" }],
  ),
  envoy(
    "RejectPartialMatches",
    ["/prefix/middle/suffix", "/prefix/middle", "/prefix"],
    ["/prefix/middle/suffix", "/prefix/middle/suffix"],
    ["/prefix/middle", "/prefix/middle"],
    ["/prefix", "/prefix"],
    ["/prefix/middle/suffix/other", undefined],
    ["/prefix/middle/other", undefined],
    ["/prefix/other", undefined],
    ["/other", undefined],
  ),
  envoy("LookupReturnsNullIfMatcherEmpty", [], ["a/b/blue/foo", undefined]),
  envoy(
    "LookupSimplePaths",
    [
      "/prefix/middle/suffix",
      "/prefix/middle/othersuffix",
      "/prefix/othermiddle/suffix",
      "/otherprefix/middle/suffix",
      "/otherprefix/suffix",
    ],
    ["/prefix/not/a/path", undefined],
    ["/prefix/middle", undefined],
    ["/prefix/not/othermiddle", undefined],
    ["/otherprefix/suffix/othermiddle", undefined],
    ["/prefix/middle/suffix", "/prefix/middle/suffix"],
    ["/prefix/middle/othersuffix", "/prefix/middle/othersuffix"],
    ["/prefix/othermiddle/suffix", "/prefix/othermiddle/suffix"],
    ["/otherprefix/middle/suffix", "/otherprefix/middle/suffix"],
    ["/otherprefix/suffix", "/otherprefix/suffix"],
  ),
  envoy("LookupReturnsNullForOverspecifiedPath", ["/a/b/c", "/a/b"], ["/a/b/c/d", undefined]),
  envoy("ReturnNullvoidSharedPtrForUnderspecifiedPath", ["/a/b/c/d"], ["/a/b/c", undefined]),
  vanguard(
    "TestRouteTrie_FindTarget",
    [
      "/foo/bar/baz/buzz",
      "/foo/bar/{name}",
      "/foo/bar/{name}/baz/{child}",
      "/foo/bar/{name}/baz/{child.id}/buzz/{child.thing.id}",
      "/foo/bar/*/{thing.id}/{cat=**}",
      "/foo/bar/*/{thing.id}/{cat=**}:do",
      "/foo/bar/*/{thing.id}/{cat=**}:cancel",
      "/foo%2Fbar/%2A/%2A%2a/{starstar=%2A%2a/**}:%2c",
      "/trailing/**:slash",
      "/verb",
    ],
    ["/bob/lob/law", undefined],
    ["/foo/bar/baz", "/foo/bar/{name}", { name: "baz" }],
    ["/foo/bob/lob/law", undefined],
    ["/foo/bar/baz/buzz", "/foo/bar/baz/buzz"],
    ["/foo/bar/baz/baz/buzz", "/foo/bar/{name}/baz/{child}", { name: "baz", child: "buzz" }],
    [
      "/foo/bar/1/baz/2/buzz/3",
      "/foo/bar/{name}/baz/{child.id}/buzz/{child.thing.id}",
      { name: "1", "child.id": "2", "child.thing.id": "3" },
    ],
    ["/foo/bar/baz/123", undefined],
    ["/foo/bar/baz/123/buzz", "/foo/bar/*/{thing.id}/{cat=**}", { "thing.id": "123", cat: "buzz" }],
    ["/foo/bar/baz/123/buzz/buzz", "/foo/bar/*/{thing.id}/{cat=**}", { "thing.id": "123", cat: "buzz/buzz" }],
    [
      "/foo/bar/baz/123/buzz/buzz:do",
      "/foo/bar/*/{thing.id}/{cat=**}:do",
      { "thing.id": "123", cat: "buzz/buzz" },
    ],
    [
      "/foo/bar/baz/123/fizz/buzz/frob/nitz:do",
      "/foo/bar/*/{thing.id}/{cat=**}:do",
      { "thing.id": "123", cat: "fizz/buzz/frob/nitz" },
    ],
    [
      "/foo/bar/baz/123/buzz/buzz:cancel",
      "/foo/bar/*/{thing.id}/{cat=**}:cancel",
      { "thing.id": "123", cat: "buzz/buzz" },
    ],
    ["foo/bar/baz/123/buzz/buzz:blah", undefined],
    ["/trailing:slash", undefined],
    ["/trailing/:slash", "/trailing/**:slash"],
    ["/verb:", undefined],
    ["/verb", "/verb"],
    ["/foo/bar/baz/%2f/%2A/%2f", "/foo/bar/*/{thing.id}/{cat=**}", { "thing.id": "/", cat: "*/%2F" }],
    ["/foo/bar/baz/123/a%2Fb", "/foo/bar/*/{thing.id}/{cat=**}", { "thing.id": "123", cat: "a%2Fb" }],
  ),
  gateway(
    "TestMatch",
    ["/v1/bucket/{name=*}"],
    ["/v1/bucket/my-bucket", "/v1/bucket/{name=*}", { name: "my-bucket" }],
    ["/v1/bucket/our-bucket", "/v1/bucket/{name=*}", { name: "our-bucket" }],
    ["/", undefined],
    ["/v1", undefined],
    ["/v1/bucket", undefined],
    ["/v2/bucket/my-bucket", undefined],
    ["/v1/pubsub/my-topic", undefined],
  ),
  gateway(
    "TestMatch",
    ["/v1/{name=o/**}"],
    ["/v1/o", "/v1/{name=o/**}", { name: "o" }],
    ["/v1/o/my-bucket", "/v1/{name=o/**}", { name: "o/my-bucket" }],
    ["/v1/o/my-bucket/dir/dir2/obj", "/v1/{name=o/**}", { name: "o/my-bucket/dir/dir2/obj" }],
    ["/v1", undefined],
    ["/v2/o/my-bucket", undefined],
    ["/v1/b/my-bucket", undefined],
  ),
  gateway(
    "TestMatch",
    ["/v2/{name=b/*}/o/{oname=*}"],
    ["/v2/b/my-bucket/o/obj", "/v2/{name=b/*}/o/{oname=*}", { name: "b/my-bucket", oname: "obj" }],
    ["/v2/b/my-bucket/o", undefined],
    ["/v2/b/my-bucket", undefined],
  ),
  gateway("TestMatch", ["/v1:LOCK"], ["/v1:LOCK", "/v1:LOCK"], ["/v1", undefined], ["/LOCK", undefined]),
  gateway("TestMatch", ["/*"], ["/abc", "/*"], ["/", undefined], ["/abc/def", undefined]),
  gateway(
    "TestMatchWithBinding",
    ["/foo/{id=*}/bar", "/foo/{id=**}"],
    ["/foo/part1%2Fpart2/bar", "/foo/{id=*}/bar", { id: "part1/part2" }],
    ["/foo/test%2Fbar", "/foo/{id=**}", { id: "test%2Fbar" }],
  ),
];

// Facts about query parameters, re-typed from the public test tables of other transcoders (see templates.ts).
// Field names are those of library.Kinds that have the same type.

/** The request message's JSON for a query string; `undefined`: refused. */
export interface QueryFact {
  readonly source: string;
  readonly query: string;
  readonly json: unknown;
}

const facts =
  (source: string) =>
  (query: string, json: unknown): QueryFact => ({ source, query, json });

const set = facts("Vanguard params_test.go TestSetParameter");
const kind = facts("Vanguard params_test.go TestIsParameter");
const populate = facts("Gateway runtime/query_test.go TestPopulateParameters");
const convert = facts("Gateway runtime/convert_test.go TestConvertTimestamp, TestConvertDuration");
const slice = facts("Gateway runtime/convert_test.go TestConvert…Slice");
const encoding = facts("Envoy path_matcher_test.cc VariableBindingsWithQueryParamsEncoding");

const base64 = Buffer.from("abc123!?$*&()'-=@~").toString("base64");

export const queryFacts: readonly QueryFact[] = [
  set(`number=${Number.MAX_VALUE}`.replace("+", "%2B"), { number: Number.MAX_VALUE }),
  set("number=NaN", { number: "NaN" }),
  set("number=Infinity", { number: "Infinity" }),
  set("number=-Infinity", { number: "-Infinity" }),
  set("single=340282346638528860000000000000000000000", { single: 340282346638528860000000000000000000000 }),
  set("single=1.7976931348623157e%2B308", undefined),
  set("single=NaN", { single: "NaN" }),
  set("single=-Infinity", { single: "-Infinity" }),
  set("i32=2147483647", { i32: 2147483647 }),
  set("i32=9223372036854775807", undefined),
  set("i64=9223372036854775807", { i64: "9223372036854775807" }),
  set("u32=4294967295", { u32: 4294967295 }),
  set("u64=18446744073709551615", { u64: "18446744073709551615" }),
  set("s32=2147483647", { s32: 2147483647 }),
  set("s64=9223372036854775807", { s64: "9223372036854775807" }),
  set("on=true", { on: true }),
  set("on=false", { on: false }),
  set("text=hello%20world", { text: "hello world" }),
  set(`data=${encodeURIComponent(base64)}`, { data: base64 }),
  set(`data=${base64.replaceAll("+", "-").replaceAll("/", "_")}`, { data: base64 }),
  set(`data=${base64.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "")}`, { data: base64 }),
  set("time=2021-01-01T00:00:00Z", { time: "2021-01-01T00:00:00Z" }),
  set("duration=1s", { duration: "1s" }),
  set("duration=3.000000001s", { duration: "3.000000001s" }),
  set("wrapped_bool=true", { wrappedBool: true }),
  set("wrapped_i32=2147483647", { wrappedI32: 2147483647 }),
  set("wrapped_i32=9223372036854775807", undefined),
  set("wrapped_i64=9223372036854775807", { wrappedI64: "9223372036854775807" }),
  set("wrapped_u32=4294967295", { wrappedU32: 4294967295 }),
  set("wrapped_u64=18446744073709551615", { wrappedU64: "18446744073709551615" }),
  set("wrapped_number=NaN", { wrappedNumber: "NaN" }),
  set("wrapped_single=Infinity", { wrappedSingle: "Infinity" }),
  set(`wrapped_data=${encodeURIComponent(base64)}`, { wrappedData: base64 }),
  set("wrapped_text=hello%20world", { wrappedText: "hello world" }),
  set("wrapped_text=%22hello%20world%22", { wrappedText: "hello world" }),
  set("mask=foo,bar.baz", { mask: "foo,bar.baz" }),
  set("colour=1", { colour: "COLOUR_RED" }),
  set("colour=COLOUR_RED", { colour: "COLOUR_RED" }),
  set("colour=null", {}),
  set("colour=unknown", undefined),
  set("colours=0&colours=1", { colours: ["COLOUR_UNSPECIFIED", "COLOUR_RED"] }),
  set("chosen_i64=1", { chosenI64: "1" }),
  set("nested.given_name=Ada", { nested: { givenName: "Ada" } }),
  set("deeper.number=1.234", { deeper: { number: 1.234 } }),
  set("labels=hello", undefined),
  set("by_u64.given_name=1.234", undefined),
  set("texts=a", { texts: ["a"] }),
  set("unknownField=hello", undefined),
  kind("text=a", { text: "a" }),
  kind("deeper.text=a", { deeper: { text: "a" } }),
  kind("deeper=%7B%7D", undefined),
  kind("value=1", undefined),
  populate("single=1.5&number=2.5&i64=-1&i32=-2&u64=3&u32=4&on=true", {
    single: 1.5,
    number: 2.5,
    i64: "-1",
    i32: -2,
    u64: "3",
    u32: 4,
    on: true,
  }),
  populate("texts=a&texts=b&texts=c", { texts: ["a", "b", "c"] }),
  populate("opt_text=str", { optText: "str" }),
  populate("optText=str", { optText: "str" }),
  populate("colours=1&colours=2&colours=0", { colours: ["COLOUR_RED", "COLOUR_BLUE", "COLOUR_UNSPECIFIED"] }),
  populate("colours=COLOUR_UNSPECIFIED&colours=2&colours=0", {
    colours: ["COLOUR_UNSPECIFIED", "COLOUR_BLUE", "COLOUR_UNSPECIFIED"],
  }),
  populate("wrapped=1&wrapped=2&wrapped=3", { wrapped: ["1", "2", "3"] }),
  populate("labels%5Bkey%5D=value", { labels: { key: "value" } }),
  populate("by_i32%5B-2%5D=5", { byI32: { "-2": "5" } }),
  populate("struct=%7B%22a%22%3A1%7D", { struct: { a: 1 } }),
  populate("wrappedI64=-1&wrappedU32=4&wrappedText=str", {
    wrappedI64: "-1",
    wrappedU32: 4,
    wrappedText: "str",
  }),
  populate("deeper.texts=a&deeper.texts=b&deeper.text=u", { deeper: { texts: ["a", "b"], text: "u" } }),
  populate("deeper.deeper.deeper.text=s", { deeper: { deeper: { deeper: { text: "s" } } } }),
  populate("chosen_text=foobar", { chosenText: "foobar" }),
  populate("chosenText=foobar", { chosenText: "foobar" }),
  populate("chosen_person.givenName=foo", { chosenPerson: { givenName: "foo" } }),
  populate("time=null", undefined),
  populate("duration=null", undefined),
  populate("chosen_i64=10&chosen_text=foobar", undefined),
  populate("chosen_i64=10&chosen_person.givenName=-1", undefined),
  populate("u64=1&u64=2", undefined),
  populate("persons.given_name=1", undefined),
  populate("time=0000-01-01T00:00:00.00Z", undefined),
  convert("time=2016-05-10T10:19:13.123Z", { time: "2016-05-10T10:19:13.123Z" }),
  convert("time=%222016-05-10T10:19:13.123Z%22", { time: "2016-05-10T10:19:13.123Z" }),
  convert("time=05-10-2016T10:19:13.123Z", undefined),
  convert("time=123", undefined),
  convert("time=true", undefined),
  convert("duration=123.456s", { duration: "123.456s" }),
  convert("duration=123years", undefined),
  convert("duration=123", undefined),
  convert("duration=true", undefined),
  slice("on=notabool", undefined),
  slice("on=1", { on: true }),
  slice("number=notafloat", undefined),
  slice("i64s=1&i64s=-2&i64s=3", { i64s: ["1", "-2", "3"] }),
  slice("i64s=1&i64s=notanint", undefined),
  slice("i32=2147483648", undefined),
  slice("u64=-2", undefined),
  slice("u32=4294967296", undefined),
  slice("datas=Zm9v&datas=YmFy", { datas: ["Zm9v", "YmFy"] }),
  slice("datas=Zm9v&datas=!!!!", undefined),
  slice("colours=9", undefined),
  encoding("text=Hello%20world", { text: "Hello world" }),
  encoding("text=%24%25%2F%20%0A", { text: "$%/ \n" }),
  facts("Envoy path_matcher_test.cc QueryParameterNotUnescapePlus")("text=Hello+world", {
    text: "Hello+world",
  }),
  facts("Envoy path_matcher_test.cc QueryParameterUnescapePlus")("text=Hello+world&opt_text=%2B+%20", {
    text: "Hello world",
    optText: "+  ",
  }),
];

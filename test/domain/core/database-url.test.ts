import { expect, it } from "vitest";
import { serversOf, serverUrls } from "../../../src/domain/core/database-url.ts";

it("returns a URL for each server, without libpq's parameter", () => {
  expect(
    serverUrls("postgresql://u:p%40@one:5432,two,[::1]:5433/db?target_session_attrs=read-write&a=1"),
  ).toEqual([
    "postgresql://u:p%40@one:5432/db?a=1",
    "postgresql://u:p%40@two/db?a=1",
    "postgresql://u:p%40@[::1]:5433/db?a=1",
  ]);
  expect(serverUrls("postgres://one/db?a=1&target_session_attrs=primary")).toEqual(["postgres://one/db?a=1"]);
});

it("leaves the URL of one server as it is", () => {
  for (const url of ["postgresql://u:p@one/db", "postgresql:///db?host=/run/postgresql", "postgresql://one"])
    expect(serverUrls(url)).toEqual([url]);
});

it.each([
  "mysql://one/db",
  "postgresql://one:port/db",
  "postgresql://one,two:port/db",
  "postgresql://one/db?target_session_attrs=any",
  "postgresql://one,two/db?target_session_attrs=standby",
])("refuses %s", (url) => {
  expect(serverUrls(url)).toBeUndefined();
});

it("names the servers without the password", () => {
  expect(serversOf("postgresql://u:secret@one:1,two/db")).toBe("one:1, two");
});

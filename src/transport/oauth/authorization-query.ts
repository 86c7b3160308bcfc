import { DEFAULT_SCOPES, isScope } from "../../domain/accounts/scope.ts";

/** Parameters of an authorization request that mean something here (RFC 6749, 7636, 8707). */
const PARAMETERS = new Set([
  "client_id",
  "code_challenge",
  "code_challenge_method",
  "redirect_uri",
  "resource",
  "response_type",
  "scope",
  "state",
]);

/**
 * Returns the query of an authorization request as the library gets it. Parameters of OpenID Connect, which
 * some hosts always send, are dropped, and so are scopes that do not exist here; without any, the default
 * ones are meant. Answers go into the query only. `prompt=none` stays and is refused: each request asks the
 * person.
 */
export function authorizationQuery(url: string): string {
  const sent = new URLSearchParams(url.split("?", 2)[1] ?? "");
  const kept = [...sent].filter(
    ([name, value]) => PARAMETERS.has(name) || (name === "prompt" && value === "none"),
  );
  const query = new URLSearchParams(kept.filter(([name]) => name !== "scope"));
  const scopes = sent
    .getAll("scope")
    .flatMap((text) => text.split(" "))
    .filter(isScope);
  query.set("scope", [...new Set(scopes.length === 0 ? DEFAULT_SCOPES : scopes)].join(" "));
  return query.toString();
}

/** Scheme and credentials, servers, and the rest of a PostgreSQL URL. */
const PARTS = /^(postgres(?:ql)?:\/\/(?:[^@/?]*@)?)([^/?]*)(.*)$/;

/** libpq's parameter for several servers. */
const TARGET = "target_session_attrs";

/** Its values that select the primary; without the parameter, several servers mean "read-write" too. */
const PRIMARY = new Set(["read-write", "primary"]);

/**
 * Returns a URL for each server of a database URL, which may list several as libpq does
 * (`postgresql://user@one,two:5433/database?target_session_attrs=read-write`).
 * @returns undefined when it is no PostgreSQL URL, or asks for anything but the primary
 */
export function serverUrls(url: string): readonly [string, ...string[]] | undefined {
  const [, prefix = "", servers = "", rest = ""] = PARTS.exec(url) ?? [];
  if (prefix === "") return undefined;
  const [first = "", ...others] = servers.split(",").map((server) => single(`${prefix}${server}${rest}`));
  return first !== "" && !others.includes("") ? [first, ...others] : undefined;
}

/** Returns the host and port of each server, for messages: the rest of the URL may hold the password. */
export function serversOf(url: string): string {
  return (serverUrls(url) ?? []).map((server) => new URL(server).host).join(", ");
}

/** Returns a URL of one server without libpq's parameter, "" when it is invalid. */
function single(text: string): string {
  const url = URL.parse(text);
  const target = url?.searchParams.get(TARGET);
  if (url === null || (typeof target === "string" && !PRIMARY.has(target))) return "";
  return text.replace(/([?&])target_session_attrs=[^&]*&?/, "$1").replace(/[?&]$/, "");
}

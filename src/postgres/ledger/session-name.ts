import type { LiveInstance } from "../../app/operations/config-versions.ts";

/** Beginning of the names of instances' sessions in pg_stat_activity, which every role can read. */
export const SESSION = "toolgate session";

/** At most 63 bytes. @param configVersion undefined: not known yet */
export function sessionName(instanceId: string, configVersion: number | undefined): string {
  return `${SESSION} ${instanceId}${configVersion === undefined ? "" : ` ${configVersion}`}`;
}

export function instanceOf(name: string): LiveInstance {
  const [instance = "unknown", version] = name.slice(SESSION.length).trim().split(" ");
  return { instance: instance || "unknown", version: version === undefined ? undefined : Number(version) };
}

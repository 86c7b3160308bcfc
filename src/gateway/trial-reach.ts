import type { CustomToolSettings } from "../tools/custom/settings.ts";

/**
 * What a draft may do before it is in force: it reaches only those private hosts that tools in force reach.
 * A session of an operator is not enough to look into the gateway's network.
 */
export class TrialReach {
  readonly #inForce: readonly CustomToolSettings[];
  readonly #hosts: ReadonlySet<string>;

  /** @param inForce tools of the version in force */
  constructor(inForce: readonly CustomToolSettings[]) {
    this.#inForce = inForce;
    this.#hosts = new Set(
      inForce.flatMap(({ guard: { network, allowHosts = [] }, hosts }) => [
        ...allowHosts,
        ...(network === "any" ? hosts : []),
      ]),
    );
  }

  /** Returns why a tool of a draft may not be tried. @param at path of its settings, e.g. `tools[0]` */
  problems({ guard: { network, allowHosts = new Set() }, hosts }: CustomToolSettings, at: string): string[] {
    const remedy = "apply the document first, or run tools try on the gateway's machine";
    const isWider = network === "any" && (hosts.length === 0 || hosts.some((host) => !this.#hosts.has(host)));
    return [
      ...(isWider ? [`${at}.network: any is more than the version in force allows; ${remedy}`] : []),
      ...[...allowHosts]
        .filter((host) => !this.#hosts.has(host))
        .map((host) => `${at}.allow_hosts: the version in force does not allow ${host}; ${remedy}`),
    ];
  }

  /** Returns settings with which a draft's tool is described: no further, and without keys for new hosts. */
  narrowed(settings: CustomToolSettings): CustomToolSettings {
    const { guard, hosts, headers } = settings;
    const wanted = guard.network === "any" ? this.#hosts : (guard.allowHosts ?? new Set<string>());
    const allowHosts = new Set([...wanted].filter((host) => this.#hosts.has(host)));
    const isKnown = this.#inForce.some(
      (tool) =>
        JSON.stringify(tool.headers) === JSON.stringify(headers) &&
        hosts.every((host) => tool.hosts.includes(host)),
    );
    return {
      ...settings,
      guard: { ...guard, network: "public", allowHosts },
      headers: isKnown ? headers : {},
    };
  }
}

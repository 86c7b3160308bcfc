/** Weight 0: only used if all others fail. */
interface Weighted {
  readonly weight: number;
}

/** Smooth weighted round robin: weights 2 and 1 give a, b, a, a, b, a. */
export class WeightedRoundRobin<Server extends Weighted> {
  readonly #credit = new Map<Server, number>();

  /** Returns the next server first, then the others as fallbacks. */
  order(servers: readonly Server[]): readonly Server[] {
    const total = servers.reduce((sum, { weight }) => sum + weight, 0);
    const [first, ...others] = servers;
    if (first === undefined || total === 0) return servers;
    for (const server of servers) this.#credit.set(server, this.#of(server) + server.weight);
    const next = others.reduce((best, server) => (this.#of(server) > this.#of(best) ? server : best), first);
    this.#credit.set(next, this.#of(next) - total);
    return [next, ...servers.filter((server) => server !== next)];
  }

  #of(server: Server): number {
    return this.#credit.get(server) ?? 0;
  }
}

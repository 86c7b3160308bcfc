/** Whoever takes a share of the work; 0: none, as long as others can do it. */
interface Weighted {
  readonly weight: number;
}

/** Shares calls out by weight, evenly in time (smooth weighted round robin): with the weights 2 and 1 it goes a, b, a, a, b, a. */
export class WeightedRoundRobin<Server extends Weighted> {
  readonly #credit = new Map<Server, number>();

  /** Whom to ask next, and after it the others, as they stand. */
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

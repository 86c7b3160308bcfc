import type { Backend, BackendDescription } from "./backend.ts";
import type { MakeBackend } from "./open-tools.ts";
import type { CustomToolSettings } from "./settings.ts";

interface Shared {
  readonly backend: Promise<Backend>;
  description: BackendDescription | undefined;
  users: number;
}

/** Shares backends between configuration versions; closes those that no version uses any more. */
export class BackendPool {
  readonly #make: MakeBackend;
  readonly #open = new Map<string, Shared>();

  constructor(make: MakeBackend) {
    this.#make = make;
  }

  /** Returns a backend that has to be closed. @throws Error as the maker does */
  readonly acquire: MakeBackend = async (settings) => {
    const key = keyOf(settings);
    const shared = this.#open.get(key) ?? { backend: this.#make(settings), description: undefined, users: 0 };
    this.#open.set(key, shared);
    shared.users++;
    try {
      return leaseOf(shared, await shared.backend, () => this.#release(key, shared));
    } catch (error) {
      await this.#release(key, shared);
      throw error;
    }
  };

  async #release(key: string, shared: Shared): Promise<void> {
    if (--shared.users > 0) return;
    this.#open.delete(key);
    await shared.backend.then(
      (backend) => backend.close(),
      () => {},
    );
  }
}

function leaseOf(shared: Shared, backend: Backend, release: () => Promise<void>): Backend {
  return {
    get described() {
      return shared.description !== undefined;
    },
    describe: async (signal) => (shared.description ??= await backend.describe(signal)),
    forget: () => {
      shared.description = undefined;
      backend.forget?.();
    },
    check: (params) => backend.check?.(params),
    call: (params, options) => backend.call(params, options),
    close: release,
  };
}

/** Everything that the backend depends on; not the price, the meter or the description. */
function keyOf({
  name,
  headers,
  timeoutMs,
  maxResponseBytes,
  guard,
  target,
  files,
}: CustomToolSettings): string {
  const reach = [guard.network, ...(guard.allowHosts ?? [])];
  return JSON.stringify([name, headers, timeoutMs, maxResponseBytes, reach, target, files]);
}

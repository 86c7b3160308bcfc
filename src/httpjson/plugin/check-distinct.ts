import type { Binding } from "./http-rule.ts";
import { GenerationError } from "./generation-error.ts";

/** @throws GenerationError when two bindings serve the same method and path, by any variable names */
export function checkDistinct(bindings: readonly Binding[]): void {
  const owners = new Map<string, Binding>();
  for (const binding of bindings) {
    const { segments, verb } = binding.template;
    const key = `${binding.httpMethod} /${segments.join("/")}:${verb}`;
    const owner = owners.get(key);
    if (owner !== undefined) {
      throw new GenerationError(
        binding.method,
        `${binding.httpMethod} ${binding.pattern} is already served as ${owner.pattern} by ` +
          `${owner.method.toString()}; change one of them`,
      );
    }
    owners.set(key, binding);
  }
}

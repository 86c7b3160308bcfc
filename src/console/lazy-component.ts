import { createElement, use, type ComponentType } from "react";

const failures = new Set<() => void>();

/** Returns a component that loads on first use and, unlike that of React.lazy, again after a failure. */
export function lazyComponent<Name extends string, Props extends object = object>(
  load: () => Promise<Record<Name, ComponentType<NoInfer<Props>>>>,
  name: Name,
): ComponentType<Props> {
  let loading: Promise<ComponentType<Props>> | undefined;
  let failed: string | undefined;
  let retries = 0;
  // Browsers keep a failed import by its URL, so a retry needs another URL.
  const again = (url: string): ReturnType<typeof load> =>
    import(/* @vite-ignore */ `${url}?retry=${(retries += 1)}`);
  const start = async () => {
    try {
      return (await (failed === undefined ? load() : again(failed)))[name];
    } catch (error) {
      failed = scriptOf(error) ?? failed;
      failures.add(() => (loading = undefined));
      throw error;
    }
  };
  return function LazyComponent(props: Props) {
    loading ??= start();
    return createElement(use(loading), props);
  };
}

/** Allows failed components to load again. */
export function forgetFailures(): void {
  for (const forget of failures) forget();
  failures.clear();
}

/** Returns the URL in the message of a failed import; Safari names none. */
function scriptOf(error: unknown): string | undefined {
  return error instanceof Error ? /https?:\/\/\S+?\.js/.exec(error.message)?.[0] : undefined;
}

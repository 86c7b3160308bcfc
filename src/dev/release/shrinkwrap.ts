import { z } from "zod";

const oneOrMore = z.union([z.string(), z.array(z.string())]);
const names = z.record(z.string(), z.string()).optional();
const lockedPackage = z.looseObject({
  dependencies: names,
  optionalDependencies: names,
  peerDependencies: names,
  peerDependenciesMeta: z.record(z.string(), z.looseObject({ optional: z.boolean().optional() })).optional(),
  os: oneOrMore.optional(),
  cpu: oneOrMore.optional(),
});
const lock = z.looseObject({
  lockfileVersion: z.literal(3),
  packages: z.record(z.string(), lockedPackage),
});

type LockedPackage = z.infer<typeof lockedPackage>;

interface Shrinkwrap {
  readonly name: string;
  readonly version: string;
  readonly lockfileVersion: number;
  readonly requires: boolean;
  readonly packages: Readonly<Record<string, LockedPackage>>;
}

/** The manifest of a package, with what its shrinkwrap repeats. */
export interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly license: string;
  readonly bin: Readonly<Record<string, string>>;
  readonly engines: Readonly<Record<string, string>>;
  readonly dependencies: Readonly<Record<string, string>>;
  readonly optionalDependencies: Readonly<Record<string, string>>;
}

/** npm installs what a shrinkwrap lists on every system: binaries of rare ones would be a gigabyte. */
const SYSTEMS = ["linux x64", "linux arm64", "darwin x64", "darwin arm64", "win32 x64"];

/** A peer of packages with types: none loads it. */
const TYPES_ONLY = "typescript";

/**
 * Returns the npm-shrinkwrap.json of a package: what the lock file has for its dependencies.
 * @param lockText package-lock.json of the checkout, whose overrides are in the locked versions
 */
export function shrinkwrapOf(manifest: Manifest, lockText: string): Shrinkwrap {
  const { packages } = lock.parse(JSON.parse(lockText));
  const { name, version, license, bin, engines, dependencies, optionalDependencies } = manifest;
  const root = { name, version, license, dependencies, bin, engines, optionalDependencies };
  const locked: Readonly<Record<string, LockedPackage>> = { ...packages, "": root };
  const required = reached(locked, [""], requiredBy);
  const all = reached(locked, required, (one) => [
    ...requiredBy(one),
    ...Object.keys(one.optionalDependencies ?? {}),
  ]);
  const kept = Object.keys(locked).filter((place) => all.has(place) && isServed(locked[place] ?? {}));
  return {
    name,
    version,
    lockfileVersion: 3,
    requires: true,
    packages: Object.fromEntries(
      kept.toSorted().map((place) => {
        const { dev: _dev, devOptional: _devOptional, optional: _optional, ...one } = locked[place] ?? {};
        return [place, { ...one, ...(!required.has(place) && { optional: true }) }];
      }),
    ),
  };
}

function isServed({ os, cpu }: LockedPackage): boolean {
  return SYSTEMS.some((system) => {
    const [ownOs = "", ownCpu = ""] = system.split(" ");
    return [os ?? ownOs].flat().includes(ownOs) && [cpu ?? ownCpu].flat().includes(ownCpu);
  });
}

function requiredBy({ dependencies, peerDependencies, peerDependenciesMeta }: LockedPackage): string[] {
  const peers = Object.keys(peerDependencies ?? {});
  return [
    ...Object.keys(dependencies ?? {}),
    ...peers.filter((peer) => peer !== TYPES_ONLY && peerDependenciesMeta?.[peer]?.optional !== true),
  ];
}

/** Returns the places from which Node would load these packages and all that they depend on. */
function reached(
  locked: Readonly<Record<string, LockedPackage>>,
  from: Iterable<string>,
  dependenciesOf: (one: LockedPackage) => readonly string[],
): ReadonlySet<string> {
  const places = new Set(from);
  for (const place of places)
    for (const name of dependenciesOf(locked[place] ?? {})) {
      const found = placeOf(locked, place, name);
      // npm leaves out an optional package of another system only when it is installed.
      if (found === undefined)
        throw new Error(`package-lock.json has no ${name} for ${place || "the package"}`);
      places.add(found);
    }
  return places;
}

function placeOf(
  locked: Readonly<Record<string, LockedPackage>>,
  place: string,
  name: string,
): string | undefined {
  const own = `${place === "" ? "" : `${place}/`}node_modules/${name}`;
  if (locked[own]) return own;
  if (place === "") return undefined;
  return placeOf(locked, place.slice(0, Math.max(0, place.lastIndexOf("node_modules/") - 1)), name);
}

import type { NetworkPolicy } from "./objects.ts";

const ADVICE = "apply deploy/kubernetes/network-policy.yaml";

/**
 * Returns what the network policies allow pods with these labels. Policies are additive (NetworkPolicy v1):
 * one must select the pods in both directions, and none may allow anything.
 */
export function networkGaps(
  policies: readonly NetworkPolicy[],
  labels: Readonly<Record<string, string>>,
): string[] {
  const selecting = policies.filter((policy) => maySelect(policy, labels));
  const gaps: string[] = [];
  for (const direction of ["Egress", "Ingress"] as const) {
    if (
      !selecting.some(
        (policy) => surelySelects(policy, labels) && policy.spec.policyTypes.includes(direction),
      )
    ) {
      gaps.push(`no network policy denies the sandbox's pods ${direction.toLowerCase()}: ${ADVICE}`);
    }
  }
  for (const { metadata, spec } of selecting) {
    if (spec.egress.length === 0 && spec.ingress.length === 0) continue;
    gaps.push(`the network policy ${metadata.name} allows the sandbox's pods some of the network: delete it`);
  }
  return gaps;
}

function surelySelects({ spec }: NetworkPolicy, labels: Readonly<Record<string, string>>): boolean {
  const { matchLabels, matchExpressions } = spec.podSelector;
  return (
    matchExpressions.length === 0 &&
    Object.entries(matchLabels).every(([key, value]) => labels[key] === value)
  );
}

/** Conservative: pods have further labels, and expressions are not evaluated. */
function maySelect({ spec }: NetworkPolicy, labels: Readonly<Record<string, string>>): boolean {
  return Object.entries(spec.podSelector.matchLabels).every(
    ([key, value]) => labels[key] === undefined || labels[key] === value,
  );
}

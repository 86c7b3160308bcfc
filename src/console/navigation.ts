import type { IconName } from "./ui/icon.tsx";

/** An entry of the navigation. */
export interface NavItem {
  href: string;
  label: string;
  icon: IconName;
}

/** Entries for every account. The first four stay visible on a narrow screen. */
export const NAV_ITEMS: readonly NavItem[] = [
  { href: "/", label: "Overview", icon: "home" },
  { href: "/activity", label: "Activity", icon: "list" },
  { href: "/keys", label: "Keys", icon: "key" },
  { href: "/deposit", label: "Deposit", icon: "deposit" },
  { href: "/playground", label: "Playground", icon: "play" },
  { href: "/settings", label: "Settings", icon: "settings" },
];

/** Further entries for operators. */
export const OPERATOR_NAV_ITEMS: readonly NavItem[] = [
  { href: "/operator", label: "Operations", icon: "gauge" },
  { href: "/operator/accounts", label: "Accounts", icon: "people" },
  { href: "/operator/payments", label: "Payments", icon: "inbox" },
  { href: "/operator/actions", label: "Audit log", icon: "log" },
];

/** Whether the location is at the entry or below it. */
export function isAt(location: string, { href }: NavItem): boolean {
  if (href === "/" || href === "/operator") return location === href;
  if (href === "/activity" && /^\/(receipts|runs)\//.test(location)) return true;
  return location === href || location.startsWith(`${href}/`);
}

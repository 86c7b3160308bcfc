import type { ComponentType } from "react";
import { lazyComponent } from "./lazy-component.ts";
import type { IconName } from "./ui/icon.tsx";

/** A page: its path below /console, its component and, if it has one, its navigation entry. */
interface PageRoute {
  /** A wouter pattern. */
  path: string;
  page: ComponentType;
  nav?: NavEntry;
}

interface NavEntry {
  label: string;
  icon: IconName;
  /** Whether only operators see it. */
  operator?: boolean;
}

export interface NavItem extends NavEntry {
  href: string;
}

/** All pages in the order of the navigation, each a chunk. Pages take no props: they read the URL. */
export const ROUTES: readonly PageRoute[] = [
  {
    path: "/",
    page: lazyComponent(() => import("./pages/overview.tsx"), "OverviewPage"),
    nav: { label: "Overview", icon: "home" },
  },
  {
    path: "/activity",
    page: lazyComponent(() => import("./pages/activity.tsx"), "ActivityPage"),
    nav: { label: "Activity", icon: "list" },
  },
  {
    path: "/activity/requests/:id",
    page: lazyComponent(() => import("./pages/request.tsx"), "RequestPage"),
  },
  { path: "/receipts/:id", page: lazyComponent(() => import("./pages/receipt.tsx"), "ReceiptPage") },
  { path: "/runs/:id", page: lazyComponent(() => import("./pages/run.tsx"), "RunPage") },
  {
    path: "/keys",
    page: lazyComponent(() => import("./pages/keys.tsx"), "KeysPage"),
    nav: { label: "Keys", icon: "key" },
  },
  {
    path: "/connect/:uid",
    page: lazyComponent(() => import("./pages/connect.tsx"), "ConnectPage"),
  },
  {
    path: "/approve/:id",
    page: lazyComponent(() => import("./pages/connect.tsx"), "ApprovePage"),
  },
  {
    path: "/deposit/:id?",
    page: lazyComponent(() => import("./pages/deposit.tsx"), "DepositPage"),
    nav: { label: "Deposit", icon: "deposit" },
  },
  {
    path: "/playground",
    page: lazyComponent(() => import("./pages/playground.tsx"), "PlaygroundPage"),
    nav: { label: "Playground", icon: "play" },
  },
  {
    path: "/tools",
    page: lazyComponent(() => import("./pages/tools.tsx"), "ToolsPage"),
    nav: { label: "Tools", icon: "tools" },
  },
  { path: "/tools/:name", page: lazyComponent(() => import("./pages/tool.tsx"), "ToolPage") },
  {
    path: "/webhooks",
    page: lazyComponent(() => import("./pages/webhooks.tsx"), "WebhooksPage"),
    nav: { label: "Webhooks", icon: "bell" },
  },
  {
    path: "/settings",
    page: lazyComponent(() => import("./pages/settings.tsx"), "SettingsPage"),
    nav: { label: "Settings", icon: "settings" },
  },
  {
    path: "/operator",
    page: lazyComponent(() => import("./pages/operator/operations.tsx"), "OperationsPage"),
    nav: { label: "Operations", icon: "gauge", operator: true },
  },
  {
    path: "/operator/accounts",
    page: lazyComponent(() => import("./pages/operator/accounts.tsx"), "AccountsPage"),
    nav: { label: "Accounts", icon: "people", operator: true },
  },
  {
    path: "/operator/accounts/:id",
    page: lazyComponent(() => import("./pages/operator/account.tsx"), "AccountPage"),
  },
  {
    path: "/operator/payments",
    page: lazyComponent(() => import("./pages/operator/payments.tsx"), "PaymentsPage"),
    nav: { label: "Payments", icon: "inbox", operator: true },
  },
  {
    path: "/operator/webhooks",
    page: lazyComponent(() => import("./pages/webhooks.tsx"), "OperatorWebhooksPage"),
    nav: { label: "Deployment webhooks", icon: "bell", operator: true },
  },
  {
    path: "/operator/revenue",
    page: lazyComponent(() => import("./pages/operator/revenue.tsx"), "RevenuePage"),
    nav: { label: "Revenue", icon: "chart", operator: true },
  },
  {
    path: "/operator/configuration",
    page: lazyComponent(() => import("./pages/operator/configuration.tsx"), "ConfigurationPage"),
    nav: { label: "Configuration", icon: "sliders", operator: true },
  },
  {
    path: "/operator/actions",
    page: lazyComponent(() => import("./pages/operator/actions.tsx"), "ActionsPage"),
    nav: { label: "Audit log", icon: "log", operator: true },
  },
];

const NAV: readonly NavItem[] = ROUTES.flatMap(({ path, nav }) =>
  nav ? [{ ...nav, href: path.replace(/\/:.*$/, "") }] : [],
);

/** Entries for every account. The first four stay visible on a narrow screen. */
export const NAV_ITEMS = NAV.filter(({ operator }) => !operator);

export const OPERATOR_NAV_ITEMS = NAV.filter(({ operator }) => operator);

/** Whether the location is at the entry or below it. */
export function isAt(location: string, { href }: NavItem): boolean {
  if (href === "/" || href === "/operator") return location === href;
  if (href === "/activity" && /^\/(receipts|runs)\//.test(location)) return true;
  return location === href || location.startsWith(`${href}/`);
}

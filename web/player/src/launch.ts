// What the server says about a launch, and what it is told: see docs/decisions/0058-player.md.

/** Values of a SCO by the full name of their element; all are strings, as content sees them. */
export type Cmi = Record<string, string>;

/** A node of the course: a folder of others, or something to deliver. */
export interface Activity {
  id: string;
  title: string;
  visible?: boolean;
  type: "sco" | "asset" | "media" | "link" | "aggregation";
  href?: string | null;
  media?: string;
  completionThreshold?: {
    completedByMeasure?: boolean;
    minProgressMeasure?: number;
    progressWeight?: number;
  };
  /** Of SCORM 1.2, in AICC's form. */
  prerequisites?: string | null;
  hideUI?: string[];
  dataMaps?: { target: string; read?: boolean; write?: boolean }[];
  sequencing?: Sequencing;
  children?: Activity[];
}

/** The rules of a SCORM 2004 activity; members have the manifest's names. */
export interface Sequencing {
  controlMode?: Record<string, boolean>;
  rules?: { pre?: Rule[]; post?: Rule[]; exit?: Rule[] };
  limits?: { attemptLimit?: number; attemptAbsoluteDurationLimit?: string };
  rollup?: {
    objectiveSatisfied?: boolean;
    progressCompletion?: boolean;
    objectiveMeasureWeight?: number;
    rules?: RollupRule[];
  };
  objectives?: Objective[];
  randomization?: {
    randomizationTiming?: string;
    selectCount?: number;
    reorderChildren?: boolean;
    selectionTiming?: string;
  };
  delivery?: { tracked?: boolean; completionSetByContent?: boolean; objectiveSetByContent?: boolean };
  constrained?: { preventActivation?: boolean; constrainChoice?: boolean };
  rollupConsiderations?: Record<string, string | boolean>;
}

/** A condition of a rule. */
export interface Condition {
  condition: string;
  operator?: string;
  referencedObjective?: string;
  measureThreshold?: number;
}

/** A rule of when an activity is skipped, left, repeated and so on. */
export interface Rule {
  conditions?: Condition[];
  conditionCombination?: string;
  action: string;
}

/** A rule of how children make up their parent's status. */
export interface RollupRule extends Rule {
  childActivitySet?: string;
  minimumCount?: number;
  minimumPercent?: number;
}

/** An objective of an activity and the global ones that it is mapped to. */
export interface Objective {
  id?: string;
  primary?: boolean;
  satisfiedByMeasure?: boolean;
  minNormalizedMeasure?: number;
  maps?: (Record<string, boolean | string> & { target: string })[];
}

/** The boot document: `GET /play/{launch}/boot`. */
export interface Boot {
  launch: string;
  /** None in a preview. */
  registration: { id: string; instance: number } | null;
  course: { id: string; title: string; version: number; standard: string };
  learner: { id: string; name: string };
  mode: "normal" | "browse" | "review";
  credit: string;
  tracking: boolean;
  culture?: string;
  origins: { main: string; content: string };
  paths: { results: string; bridge: string; content: string };
  exitUrl?: string | null;
  /** Instead of an address: a word of the API. */
  exit?: "closer" | "blank" | "message" | null;
  /** The id of the page that reads this. */
  session: string;
  settings?: { commitSeconds?: number; bodyBytesMax?: number };
  start?: string | null;
  suspended?: string | null;
  tree: Activity;
  /** `session`: the page that has saved last of the activity. */
  states?: Record<string, { attempts?: number; cmi: Cmi; session?: string | null }>;
  sequencing?: string | null;
  globalObjectives?: Record<string, unknown>;
  sharedData?: Record<string, string>;
}

/** One call of the API: ms since 1970, function, two arguments, result, error code. */
export type Call = [number, string, string, string, string, number];

/** The secret of the launch, from the page's own address. */
export function secret(path: string): string {
  return path.split("/")[2] ?? "";
}

/** Asks the server for the boot document. */
export async function boot(path: string): Promise<Boot> {
  const answer = await fetch(`/play/${secret(path)}/boot`, {
    cache: "no-store",
    credentials: "omit",
  });
  if (!answer.ok) throw new Error(String(answer.status));
  return (await answer.json()) as Boot;
}

/** All activities below and with `activity`, parents first. */
export function* each(activity: Activity): Generator<Activity> {
  yield activity;
  for (const child of activity.children ?? []) yield* each(child);
}

/** The activities that can be delivered, in the order of the course. */
export function leaves(tree: Activity): Activity[] {
  return [...each(tree)].filter((one) => one.type !== "aggregation" && !!one.href);
}

/** Whether the standard is an edition of SCORM 2004. */
export function is2004(standard: string): boolean {
  return standard.startsWith("SCORM2004");
}

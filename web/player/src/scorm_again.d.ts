// The parts of scorm-again that the player uses; its own types need its sources' settings.

declare module "scorm-again/scorm12/min" {
  export const Scorm12API: new (settings: object) => import("./facade").Inner;
}

declare module "scorm-again/scorm2004/min" {
  export const Scorm2004API: new (settings: object) => import("./engine").Inner2004;
}

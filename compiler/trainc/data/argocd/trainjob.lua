-- Health of a TrainJob (trainer.kubeflow.org/v1alpha1) by its conditions. No string library: Argo CD opens none.
local status = obj.status or {}
local spec = obj.spec or {}

local function health(code, message)
  return { status = code, message = message }
end

local holds = {}
for _, condition in ipairs(status.conditions or {}) do
  if condition.status == "True" then
    holds[condition.type] = condition.message or condition.reason or condition.type
  end
end

if holds.Failed then
  return health("Degraded", holds.Failed)
end
if holds.Complete then
  return health("Healthy", holds.Complete)
end
if holds.Suspended then
  return health("Suspended", holds.Suspended)
end
if spec.suspend and obj.status == nil then
  return health("Suspended", "created suspended")
end
if obj.status == nil then
  return health("Progressing", "not seen by the Trainer controller yet")
end

local parts = {}
for _, job in ipairs(status.jobsStatus or {}) do
  table.insert(parts, job.name .. " " .. (job.ready or 0) .. " ready, " .. (job.succeeded or 0) .. " succeeded")
end
local message = "jobs: " .. table.concat(parts, "; ")
if #parts == 0 then
  message = "no job yet"
end
local trainer = status.trainerStatus or {}
if trainer.progressPercentage ~= nil then
  message = message .. "; " .. trainer.progressPercentage .. "% done"
end
return health("Progressing", message)

#SBATCH --nodes=2 # two
#SBATCH --gres=gpu:a100:4
declare -A L=([8B]=32 [70B]=80)
SIZE=${1:-8B}; [[ $SIZE =~ ([0-9]+)B$ ]] && N=${BASH_REMATCH[1]}
case ${SIZE,,} in 8b|7b) A=(--num-layers ${L[$SIZE]});; *) exit 1;; esac
for ((i = 0; i < 3; i++)); do ((i % 2)) && continue; A+=(--x"${i}"); done
while [ $# -gt 0 ]; do shift; done
f() { local t=${1:-2}; A+=(--tensor-model-parallel-size $((t > 1 ? t : 1))); return 0; }
f 4; [ -f "$DIR/x" ] && A+=(--bf16) || A+=("$(echo --fp16)")
printf -v P '%s' "${A[@]:0:2}"; IFS=',' read -ra Q <<< "a,b"
X=$(cat <<'END'
torchrun --nproc_per_node 4 pretrain_gpt.py
END
)
eval "$X ${A[*]} --hidden-size 4096 '${P//x/y}' ${SIZE%B} ${SIZE^^}"
srun -N 2 bash -c 'torchrun a.py $0' "${Q[-1]}"

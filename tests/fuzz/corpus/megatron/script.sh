A=(--num-layers 32 --hidden-size 4096 --num-attention-heads 32 --vocab-size 32000 --position-embedding-type rope --seq-length 4096 --micro-batch-size 1 --global-batch-size 64 --bf16)
if [[ "$X" == a* && -z $Y ]]; then A+=(--num-experts 8 --moe-layer-freq "([0]*3+[1]*29)"); fi
f() { torchrun --nnodes ${N:-2} --nproc_per_node 8 pretrain_gpt.py "${A[@]}"; }
case $Z in a|b*) M=$((2*3)) ;; *) M=1 ;; esac
f --tensor-model-parallel-size $M # done
